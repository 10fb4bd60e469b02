"""The local trust model, which trusts only the user's own device: every person sends one randomised report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ...privacy.guarantee import LOCAL
from ..design import Design, check_noise
from ..kinds.kind import DesignMaker
from .trust import People, Trust, register

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law
    from ..releases.aggregates import Aggregate

LARGEST = 2.0**46
"""The most that an honest device sends in one cell, in grids: sums of many reports, and floats, then hold it exactly."""

DEVICES_DRAW = "every device draws its own noise and sends one report once"
DEVICES_DRAW_AGAIN = "every device draws its own noise, anew for each episode, and sends one report about each once"


class LocalTrust(Trust):
    """Devices randomise, and a server adds up what is public."""

    name = LOCAL
    attack = LOCAL
    mechanisms = (
        "laplace",
        "gaussian",
        "randomised-response",
        "bounded",
        *("unary", "k-ary", "subset"),
        *("asked-unary", "asked-k-ary", "asked-subset"),
    )

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, by the mechanism that adds least."""
        from .local_counts import design_local

        return {"counts": design_local}

    def law(self, design: Design, people: People) -> Law:
        """Each user's own noise."""
        from ..laws import PeoplesNoise

        return PeoplesNoise(design.randomizer, people.astype(np.float64))

    def devices(self, design: Design) -> tuple[Randomizer, ...]:
        """One report, by the design's mechanism."""
        return (design.randomizer,)

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """Those of the question, and that devices draw their noise."""
        return (*design.question.assumptions, DEVICES_DRAW if design.act.times == 1 else DEVICES_DRAW_AGAIN)

    def check(self, design: Design) -> None:
        """Refuse noise that does not belong to the question, and reports that could be too large to add up."""
        check_noise(design, design.randomizer)
        if design.question.range.furthest + design.randomizer.reach() > LARGEST * design.mechanism.grid:
            raise InvalidInput(
                "local-grid-fine",
                f"On a grid of {design.mechanism.grid:g} numbers of reports are too large. Make it coarser.",
            )

    def open_aggregate(self, design: Design) -> Aggregate:
        """A server's aggregate, which may be closed at any time."""
        from ..releases.aggregates import ReportAggregate

        return ReportAggregate(design)


register(LocalTrust())
