"""The child process that learns, so that the serving process never waits for it: sums in, a release and a policy out.

Messages are msgpack, each after its length, over standard input and output. The first is the contract, the second what contracts
before it taught. It holds nothing: what it
is given and what it gives back is all in the store. When its parent is gone, its input ends, and so does it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

import msgpack
import numpy as np

from ...learning.learners.late import learn_late
from ...validation import Json, Plain
from ..contract.admission import admission_lines, once
from ..contract.contract import Contract
from . import promises
from .adapters import learner_of
from .promises import with_reports
from .rounds import close_round, empty_sum

LENGTH = struct.Struct("<Q")
LATE_REPORTS = "a late report counts in the open round, as of one who followed the policy it names"


def send(stream: IO[bytes], message: Plain) -> None:
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


class RoundLearner:
    """The learner of one contract: begins, and learns from every round that closes."""

    def __init__(self, contract: Contract, earlier: bytes = b"") -> None:
        """earlier: what contracts before this one taught, as `ending.carry` wrote it; empty for nothing."""
        self.contract, self.design = contract, contract.design
        self.learner, self.adapter = learner_of(contract)
        self.context = self.adapter.context
        self._begun = self.adapter.begin(earlier) if earlier else None

    def begin(self) -> list[bytes]:
        """The state before the first user, the sum over no users, the first policy, the visits expected of a user who follows it,
        and what people are asked."""
        state, first = self._begun or self.adapter.begin(b"")
        parts = [self.adapter.state_to_bytes(state), empty_sum(self.design), first]
        return [*parts, self.adapter.expected_bytes(state), self.adapter.question_bytes(state)]

    def learn(self, state: bytes, before: bytes, groups: list[tuple[bytes, bytes]]) -> list[bytes]:
        """The state after a round, the sum over all users so far, the next policy, the visits expected of a user who follows it,
        the release it was learned from, and what people are asked next.

        groups: the visits expected of people who followed one policy, if known, and the sum of what they reported (or a
        curator's release); those who followed the round's own come last.
        """
        current = self.adapter.state_from_bytes(state)
        *late, own = groups
        for expected, during in late:
            before, release = close_round(self.design, before, during)
            if expected:
                spec = self.context.spec
                visits = np.frombuffer(expected, dtype="<f8").reshape(spec.layers, spec.states, spec.actions)
                current = learn_late(self.learner, current, self.adapter.together(release), visits)
        total, release = close_round(self.design, before, own[1])
        after = self.learner.learn(current, self.adapter.together(release))
        parts = [
            self.adapter.state_to_bytes(after),
            total,
            self.adapter.policy_bytes(after),
        ]
        return [*parts, self.adapter.expected_bytes(after), release.to_bytes(), self.adapter.question_bytes(after)]

    def certificate(self) -> list[bytes]:
        """The certificate as JSON: what is guaranteed to every user, and to one who sends more reports than the contract allows."""
        design, contract = self.design, self.contract
        allowed = contract.document["reports_per_person"]
        repeated = []
        for reports in (allowed, 2 * allowed, 5 * allowed):
            guarantee = with_reports(design, reports)
            repeated.append(
                {"reports": reports, "epsilon": guarantee.epsilon, "delta": guarantee.delta, "rho": guarantee.rho}
            )
        document: dict[str, Json] = {
            "schema": "confide.service-certificate/1",
            "contract": contract.pin,
            "certificate": design.certificate("plain").as_json(),
            "reports_per_person": allowed,
            "with_reports": repeated,
            "says": [*admission_lines(contract), *promises.renewed(contract), *assumptions(contract)],
        }
        if contract.period is not None:
            over = {str(many): promises.over_periods(contract, many).as_json() for many in promises.SHOWN_PERIODS}
            document["period"] = {"seconds": contract.period.seconds, "over": over}
        return [json.dumps(document).encode()]


def assumptions(contract: Contract) -> list[str]:
    """What the guarantee of a service assumes beyond its mechanism, in plain sentences."""
    if contract.intermediary is not None:
        return promises.assumptions(contract, contract.intermediary)
    sentences = [
        "every report is randomised on the device: the guarantee holds against the operator of the collector",
        f"a device that runs this package sends {promises.how_often(contract, 'report')}; {once(contract)}; each moves a "
        "cell by no more than an honest one",
        promises.STORIES,
        promises.ALONE,
        LATE_REPORTS,
    ]
    timing = (
        f"the time at which a report is sent is drawn before the episode begins, inside a window of {contract.window:g} s"
        if contract.window
        else "a report is sent when its episode ends: that and when it was sent is not hidden; a window would hide it"
    )
    return [*sentences, f"whether a user takes part is not hidden; {timing}"]


def main() -> None:
    """Answer messages on standard input until it ends."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write between messages
    first = receive(source)
    if first is None:
        return
    learner = RoundLearner(Contract.from_bytes(first), receive(source) or b"")
    verbs: dict[str, Callable[..., list[bytes]]] = {
        "begin": learner.begin,
        "learn": learner.learn,
        "certificate": learner.certificate,
    }
    while (message := receive(source)) is not None:
        verb, *arguments = message
        try:
            answer: list[Plain] = [True, *verbs[verb](*arguments)]
        except Exception as error:
            answer = [False, f"{type(error).__name__}: {error}"]
        try:
            send(target, answer)
        except BrokenPipeError:  # the process that asked was killed meanwhile; no message, and nothing more is written
            os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
            return


if __name__ == "__main__":
    main()
