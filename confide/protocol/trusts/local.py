"""The local trust model, nobody but one's own device: every person sends one randomised report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...privacy.guarantee import LOCAL
from ..design import Design, Trust, check_noise, register_trust

LARGEST = 2.0**46
"""The most that an honest device sends in one cell, in grids: sums of many reports, and floats, then hold it exactly."""

DEVICES_DRAW = "every device draws its own noise and sends one report once"


def _law(design: Design, people: NDArray[Any]) -> Any:
    from ..laws import PeoplesNoise

    return PeoplesNoise(design.mechanism, people.astype(np.float64))


def _devices(design: Design) -> tuple[Any, ...]:
    return (design.mechanism,)


def _assumptions(design: Design) -> tuple[str, ...]:
    return (*design.question.assumptions, DEVICES_DRAW)


def _check(design: Design) -> None:
    check_noise(design, "randomize", design.mechanism)
    from ..releases.report import reach_of

    if design.question.range.furthest + reach_of(design.mechanism) > LARGEST * design.mechanism.grid:
        raise InvalidInput(
            "local-grid-fine",
            f"On a grid of {design.mechanism.grid:g} numbers of reports are too large. Make it coarser.",
        )


register_trust(Trust(LOCAL, _law, _devices, _assumptions, check=_check))
