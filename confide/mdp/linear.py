"""Linear decision processes: P_h(s'|s,a) = <phi(s,a), nu_h(s')>, r_h(s,a) = <phi(s,a), theta_h>, with phi known to all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput

Array = NDArray[np.float64]

SPANNED = 1e-8
"""How far a combination of features may lie from one and still count as constant."""


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """phi: (S, A, d), divided by its declared bound, so that no norm exceeds 1: sensitivities rely on it."""

    phi: Array
    bound: float = 1.0

    @classmethod
    def declared(cls, phi: Any, bound: float | None = None, clip: bool = False) -> LinearFeatures:
        """From a public table. Norms above the declared bound are refused, or scaled down to it if `clip`.

        Without a bound it is the largest norm of the table, which is public like the table itself.
        """
        table = validation.array("features", phi, (None, None, None))
        if not table.size:
            raise validation.refusal("features", "of shape (S, A, d), none of them 0", table.shape)
        norms = np.linalg.norm(table, axis=-1)
        most = float(norms.max())
        if bound is None:
            bound = most or 1.0
        bound = validation.positive("norm bound of the features", bound)
        if most > bound * (1 + 1e-12):
            if not clip:
                state, action = (int(i) for i in np.argwhere(norms > bound * (1 + 1e-12))[0])
                raise InvalidInput(
                    f"No feature vector may be longer than {bound:g}. State {state}, action {action} has length "
                    f"{norms[state, action]:.4g}. Raise the bound, scale the features, or clip them."
                )
            table = table * np.minimum(1.0, bound / np.maximum(norms, 1e-300))[..., None]
        scaled = table / bound
        # Division may leave a norm above 1 in its last digit.
        return cls(scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=-1).max()), bound)

    @property
    def states(self) -> int:
        """S."""
        return int(self.phi.shape[0])

    @property
    def actions(self) -> int:
        """A."""
        return int(self.phi.shape[1])

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.phi.shape[2])

    @cached_property
    def constant(self) -> bool:
        """Whether some combination of features is one everywhere; then targets may be centred."""
        rows = self.phi.reshape(-1, self.dimension)
        best = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
        return bool(np.abs(rows @ best - 1).max() < SPANNED)
