"""A trust model of one's own: devices randomise as under local trust, and a witness holds their sum until a quorum came.

Each report keeps the guarantee by itself; that no one sees the sum of a few is something the witness is trusted with besides.
"""

from __future__ import annotations

from typing import Any

from confide.errors import PrivacyError
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.protocol.accepted import Combination
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.kind import by_trust
from confide.protocol.releases import Aggregate, ReportAggregate
from confide.protocol.trusts.local import LocalTrust
from confide.protocol.trusts.trust import register

WITNESS = "witness"
QUORUM = 3


class WitnessAggregate(ReportAggregate):
    def close(self, question: Any = None) -> Any:
        if self.users < QUORUM:
            raise PrivacyError(
                "witness-waits", f"Only {self.users} people came, and the witness waits for {QUORUM}. Wait."
            )
        return super().close(question)


class Witness(LocalTrust):
    name = WITNESS
    answered = by_trust(asked=("k-ary",))

    def assumptions(self, design: Design) -> tuple[str, ...]:
        return (*design.question.assumptions, f"the witness waits for {QUORUM} people")

    def open_aggregate(self, design: Design) -> Aggregate:
        return WitnessAggregate(design)

    def case(self, row: Combination, promise: Guarantee) -> Design:
        """Where asked pairs are audited and swept."""
        return make(Request(CountQuestion(Spec(2, 2, 3)), promise, Schedule.every(1), mechanism="asked-k-ary"))


register(Witness())
