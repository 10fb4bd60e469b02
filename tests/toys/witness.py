"""A trust model of one's own: devices randomise as under local trust, and a witness holds their sum until a quorum came.

Each report keeps the promise by itself; that nobody sees the sum of a few is something the witness is trusted with besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data.privatizers.devices import register as register_response
from confide.data.privatizers.devices import report
from confide.data.privatizers.simulated import register as register_drawing
from confide.data.privatizers.simulated import summed
from confide.data.trajectories import Trajectory
from confide.errors import PrivacyError
from confide.lab import audit
from confide.mdp import Spec
from confide.mechanisms.noise import NoiseSource
from confide.privacy import Guarantee, Schedule
from confide.protocol.accepted import accept
from confide.protocol.design import Design, Request, Trust, make, register_maker, register_trust
from confide.protocol.kinds import CountQuestion, counts
from confide.protocol.laws import Law, PeoplesNoise
from confide.protocol.releases import Report, ReportBook, books
from confide.protocol.releases.sums import Sum
from confide.protocol.trusts.local_counts import design_local

WITNESS = "witness"
QUORUM = 3


class WitnessBook(ReportBook):
    def close(self, question: Any = None) -> Any:
        if self.users < QUORUM:
            raise PrivacyError(
                "witness-waits", f"Only {self.users} people came, and the witness waits for {QUORUM}. Wait."
            )
        return super().close(question)


def law(design: Design, people: NDArray[Any]) -> Law:
    return PeoplesNoise(design.mechanism, people.astype(np.float64))


def devices(design: Design) -> tuple[Any, ...]:
    return (design.mechanism,)


def assumptions(design: Design) -> tuple[str, ...]:
    return (*design.question.assumptions, f"the witness waits for {QUORUM} people")


def send(design: Design, question: Any, episode: Trajectory, noise: NoiseSource, batch: int) -> Report:
    return report(design, question, episode, noise)


def draw(design: Design, totals: Any, people: Any, rng: np.random.Generator, batch: int) -> list[Sum]:
    return [summed(design, totals, people, rng)]


def case(promise: Guarantee) -> Design:
    """Where asked pairs are audited and swept."""
    return make(Request(CountQuestion(Spec(2, 2, 3)), promise, Schedule.every(1), mechanism="asked-k-ary"))


register_trust(Trust(WITNESS, law, devices, assumptions))
register_maker(counts.KIND, WITNESS, design_local)
register_response(WITNESS, send)
register_drawing(WITNESS, draw)
books.register(WITNESS, WitnessBook)
audit.register(WITNESS, audit.local_target)
accept("asked", "k-ary", WITNESS, case)
