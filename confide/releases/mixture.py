"""What a learner may see of linear mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..designs.reading import SILENCE, Noise
from ..privacy import Guarantee
from ..questions.mixture import MixtureForm

Array = NDArray[np.float64]


class MixtureRadius(NamedTuple):
    """Error radii: no Gram matrix is off by more than `gram` in its largest eigenvalue, signs dropped, and no vector by
    more than `vector` in its norm, all layers at once, with the stated confidence. 0 means no privacy."""

    gram: float
    vector: float


@dataclass(frozen=True, eq=False)
class MixtureRelease:
    """Summed X X' (L, blocks, m, m) and X Y (L, blocks, m) of `users` people, with their error."""

    form: MixtureForm
    users: int
    gram: Array
    vector: Array
    radius: MixtureRadius
    failure: float
    guarantee: Guarantee
    noise: Noise = SILENCE
