"""The child process that learns, so that whoever serves never waits for it: sums in, a release and a policy out.

Messages are msgpack, each after its length, over standard input and output. The first is the contract. It holds nothing: what it
is given and what it gives back is all in the store. When its parent is gone, its input ends, and so does it.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

import msgpack
import numpy as np

from ..contracts.contract import Contract
from ..learners.late import learn_late
from ..mdp import Policy, policies
from . import promises
from .courses import course
from .lessons import closed, nobody
from .promises import with_reports

LENGTH = struct.Struct("<Q")
LATE = "a late report counts in the open round, as of one who followed the policy it names"


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body: bytes = msgpack.packb(message)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return msgpack.unpackb(body, max_bin_len=length, max_str_len=length) if len(body) == length else None


class School:
    """The learner of one contract, and what it does when a round closes."""

    def __init__(self, contract: Contract) -> None:
        self.contract, self.design = contract, contract.design
        self.learner, self.course = course(contract)
        self.context = self.course.context

    def begin(self) -> list[bytes]:
        """The state before anybody came, the sum of nobody, the first policy, the visits expected of whoever follows it, and what
        people are asked. Through a burn-in people act at random."""
        state = self.learner.begin(self.context, np.random.default_rng())
        several = [Policy(table) for table in state.policies]
        if self.design.schedule.burn_in:
            spec = self.context.spec
            several = [Policy.uniform(spec.horizon, spec.states, spec.actions)]
        raw = [self.course.stored(state), nobody(self.design), policies.to_bytes(several)]
        return [*raw, self.course.expected(state), self.course.asked(state)]

    def learn(self, state: bytes, before: bytes, groups: list[tuple[bytes, bytes]]) -> list[bytes]:
        """The state after a round, the sum of everybody so far, the next policy, the visits expected of whoever follows it, the
        release it was learned from, and what people are asked next.

        groups: the visits expected of people who followed one policy, if known, and the sum of what they reported (or a
        curator's release); those who followed the round's own come last.
        """
        now = self.course.restored(state)
        *late, own = groups
        for expected, during in late:
            before, release = closed(self.design, before, during)
            if expected:
                spec = self.context.spec
                visits = np.frombuffer(expected, dtype="<f8").reshape(spec.layers, spec.states, spec.actions)
                now = learn_late(self.learner, now, release, visits)
        total, release = closed(self.design, before, own[1])
        after = self.learner.learn(now, release)
        raw = [self.course.stored(after), total, policies.to_bytes([Policy(table) for table in after.policies])]
        return [*raw, self.course.expected(after), release.to_bytes(), self.course.asked(after)]

    def certificate(self) -> list[bytes]:
        """What is promised to every person, and to one who sends more reports than the contract allows."""
        design, contract = self.design, self.contract
        allowed = contract.document["reports_per_person"]
        repeated = []
        for many in (allowed, 2 * allowed, 5 * allowed):
            kept = with_reports(design, many)
            repeated.append({"reports": many, "epsilon": kept.epsilon, "delta": kept.delta, "rho": kept.rho})
        said = {
            "schema": "confide.service-certificate/1",
            "contract": contract.pin,
            "certificate": design.certificate("plain").as_json(),
            "reports_per_person": allowed,
            "with_reports": repeated,
            "says": assumptions(contract),
        }
        return [json.dumps(said).encode()]


def assumptions(contract: Contract) -> list[str]:
    """What the promise of a service stands on beyond its mechanism, in plain words."""
    if contract.intermediary is not None:
        return promises.assumptions(contract, contract.intermediary)
    told = [
        "every report is randomised on the device: the promise holds against the operator, whoever runs the collector",
        "a device that runs this package sends one report to an operator, ever; reports are not authenticated, so a"
        " person with many devices counts as many, each of which moves a cell by no more than an honest one",
        "a server may show each device its own policy: signatures make that provable, and only a witness shows it",
        LATE,
    ]
    when = (
        f"the time at which a report is sent is drawn before the episode begins, inside a window of {contract.window:g} s"
        if contract.window
        else "a report is sent when its episode ends: that and when it was sent is not hidden; a window would hide it"
    )
    return [*told, f"whether somebody takes part is not hidden; {when}"]


def main() -> None:
    """Answer until the input ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write between messages
    first = receive(source)
    if first is None:
        return
    school = School(Contract.from_bytes(first))
    verbs: dict[str, Callable[..., list[bytes]]] = {
        "begin": school.begin,
        "learn": school.learn,
        "certificate": school.certificate,
    }
    while (message := receive(source)) is not None:
        verb, *given = message
        try:
            send(target, [True, *verbs[verb](*given)])
        except Exception as error:
            send(target, [False, f"{type(error).__name__}: {error}"])


if __name__ == "__main__":
    main()
