"""What is asked about a linear mixture, and what a learner may see of the answers.

For each step h < H the answer is X X' and X Y, X = phi_V(s_h, a_h) and Y = V(s_{h+1}), where V = V_{h+1} is the public
value function of the policy in use (the last step has nothing to tell, as V_{H+1} = 0). A per-step model has a
regression for each step; in a stationary one theta is the same at all steps, and their sums are one. The *form* of the
answer is fixed before anybody is asked; each question adds the value function of the moment. In Algorithm 1 of Liao, He
and Gu (2021) a device works V out from what the server sends; here the server sends V itself, which is the same
function of the same public numbers, and smaller.

**Scaling.** E[Y] = <X, theta> holds for every function V, so any public change of V will do. `raw` takes V as it is;
`unit` divides it by its largest value; `centred` maps its range onto [-1, 1], which is allowed because
<phi_1(s,a), theta> = 1. In the last two the device works out the range from the V it received, so that one person's
influence is the same whatever the server sends.

**Cells.** Layer by layer and block by block: the upper triangle of X X' row by row, with the diagonal over sqrt 2, then
X Y. Noise of one standard deviation sigma in every cell is then the symmetric noise of `mechanisms.symmetric`, and the
l2 distance of cells prices it. Papers that add noise of one variance to the whole triangle do not divide (`even`).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import FormatError, InvalidInput, PrivacyError
from ..mdp import STATIONARY, MixtureFeatures, Spec
from ..privacy import Guarantee
from .question import MOST_CELLS
from .report import Report

Array = NDArray[np.float64]

RAW, UNIT, CENTRED = "raw", "unit", "centred"
FORMAT = "confide.mixture-question/1"

ROUNDING = 1e-9
"""By how much, relatively, sums of floats may exceed a bound that holds for real numbers."""


@dataclass(frozen=True, eq=False)
class MixtureForm:
    """What every question of a run has in common. ranges: (H,), ranges[h] bounds V_{h+2} in the papers' count of steps,
    the value after step h of 0 .. H-1; the last is 0."""

    spec: Spec
    features: MixtureFeatures
    ranges: Array
    scaling: str = RAW
    even: bool = False

    def __post_init__(self) -> None:
        validation.choice("scaling", self.scaling, (RAW, UNIT, CENTRED))
        ranges = validation.array("ranges", self.ranges, (self.spec.horizon,))
        if ranges.min() < 0:
            raise validation.refusal("ranges", "at least 0", float(ranges.min()))
        if self.spec.horizon < 2:
            raise validation.refusal(
                "horizon", "at least 2", self.spec.horizon, "One step has no next state to learn about."
            )
        sizes = (self.features.states, self.features.actions)
        if sizes != (self.spec.states, self.spec.actions):
            raise validation.refusal("features", f"for {self.spec}", f"{sizes[0]} states and {sizes[1]} actions")
        object.__setattr__(self, "ranges", ranges)
        self.features.check_memory(self.layers)
        validation.integer("cells", self.cells, 1, MOST_CELLS, "Use fewer features, or features with blocks.")

    @property
    def steps(self) -> int:
        """The steps that are asked about: all but the last."""
        return self.spec.horizon - 1

    @property
    def layers(self) -> int:
        """How many regressions there are: one, or one for each step."""
        return 1 if self.spec.model == STATIONARY else self.steps

    @property
    def block_cells(self) -> int:
        """Cells of one block of one layer: m (m+1)/2 and m."""
        return self.features.size * (self.features.size + 3) // 2

    @property
    def cells(self) -> int:
        """The length of the flat vector."""
        return self.layers * self.features.blocks * self.block_cells

    @property
    def diagonal(self) -> float:
        """What the diagonal is multiplied by in the cells."""
        return 1.0 if self.even else math.sqrt(0.5)

    def reference(self, step: int) -> tuple[float, float]:
        """The range of the scaled value function after a step."""
        return {RAW: (0.0, float(self.ranges[step])), UNIT: (0.0, 1.0), CENTRED: (-1.0, 1.0)}[self.scaling]

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """For each step the largest ||X||^2 and the largest sum of fourth powers of X, whatever is asked."""
        return tuple(self.features.norms(*self.reference(step)) for step in range(self.steps))

    def scaled(self, values: Array) -> tuple[Array, Array, Array]:
        """Scaled value functions (H-1, S), shifts and factors (H-1,): V_{h+1} = shift + factor scaled.

        A V without range becomes 0, and its factor 0: its expectation is known without asking anybody.
        """
        after = values[1:-1]
        low, high = after.min(axis=1), after.max(axis=1)
        if self.scaling == RAW:
            shift, factor = np.zeros(self.steps), np.ones(self.steps)
        elif self.scaling == UNIT:
            shift, factor = np.zeros(self.steps), high
        else:
            shift, factor = (low + high) / 2, (high - low) / 2
        safe = np.where(factor > 0, factor, 1.0)[:, None]
        bounds = np.array([self.reference(step) for step in range(self.steps)])
        scaled = np.clip((after - shift[:, None]) / safe, bounds[:, :1], bounds[:, 1:])
        scaled[factor == 0] = 0.0
        return scaled, shift, factor

    def pack(self, gram: Array, vector: Array) -> Array:
        """Cells of Gram matrices (L, blocks, m, m) and vectors (L, blocks, m); L is `layers`."""
        rows, columns = np.triu_indices(self.features.size)
        triangle = gram[..., rows, columns] * np.where(rows == columns, self.diagonal, 1.0)
        return np.concatenate([triangle, vector], axis=-1).ravel()

    def unpack(self, cells: Array) -> tuple[Array, Array]:
        """The inverse of `pack`; the matrices are exactly symmetric."""
        size = self.features.size
        table = cells.reshape(self.layers, self.features.blocks, self.block_cells)
        rows, columns = np.triu_indices(size)
        gram = np.empty((*table.shape[:2], size, size))
        gram[..., rows, columns] = table[..., : len(rows)] / np.where(rows == columns, self.diagonal, 1.0)
        gram[..., columns, rows] = gram[..., rows, columns]
        return gram, np.ascontiguousarray(table[..., len(rows) :])

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint: a device answers only questions of the form it was made for."""
        spec = [self.spec.states, self.spec.actions, self.spec.horizon, self.spec.model]
        body = msgpack.packb([spec, self.features.digest, self.ranges.tobytes(), self.scaling, self.even])
        return hashlib.sha256(body).digest()[:16]


@dataclass(frozen=True, eq=False)
class MixtureQuestion:
    """The form, and the value function (H+1, S) that devices are to use: V_h in [0, ranges[h-1]], the last 0.

    A value function outside its range is refused: the server is a device's adversary, and a larger V would be a larger
    influence of the person on her report.
    """

    form: MixtureForm
    values: Array

    def __post_init__(self) -> None:
        shape = (self.form.spec.horizon + 1, self.form.spec.states)
        values = validation.array("values", self.values, shape)
        most = self.form.ranges[:, None]
        outside = (values[1:] < 0) | (values[1:] > most * (1 + ROUNDING))
        if outside.any():
            step = int(outside.any(axis=1).argmax())
            raise PrivacyError(
                f"The value function must lie in [0, {self.form.ranges[step]:g}] after step {step + 1}. It does not, "
                "so nothing was answered. The server must send values in their range."
            )
        object.__setattr__(self, "values", values)

    @cached_property
    def scaled(self) -> tuple[Array, Array, Array]:
        """`MixtureForm.scaled` of these values."""
        return self.form.scaled(self.values)

    def to_bytes(self) -> bytes:
        """Versioned bytes: format, fingerprint of the form, the value function as little-endian doubles."""
        body: bytes = msgpack.packb([FORMAT, self.form.digest, self.values.astype("<f8").tobytes()])
        return body

    @classmethod
    def from_bytes(cls, data: bytes, form: MixtureForm) -> MixtureQuestion:
        """Read what `to_bytes` wrote for this form; refuse anything else."""
        try:
            name, digest, raw = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            if digest != form.digest:
                raise ValueError("it is of another form than this device was made for")
            values = np.frombuffer(raw, dtype="<f8").reshape(form.spec.horizon + 1, form.spec.states)
            return cls(form, values.astype(np.float64))
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(f"These bytes are not a question this device can answer: {error}") from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint that a report carries."""
        return hashlib.sha256(self.to_bytes()).digest()[:16]


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


class MixtureSum:
    """The running sum of reports of one form, whichever questions they answered."""

    def __init__(self, form: MixtureForm, mechanism: dict[str, Any], grid: float) -> None:
        """Empty."""
        self.form, self.mechanism, self.grid = form, mechanism, grid
        self.cells = np.zeros(form.cells, dtype=np.int64)
        self.users = 0

    def add(self, question: MixtureQuestion, report: Report) -> None:
        """Count an answer to the question that was asked, or refuse it and change nothing."""
        if report.question != question.digest or question.form.digest != self.form.digest:
            raise InvalidInput("This report answers another question. Send the device the current question.")
        if report.mechanism != self.mechanism or report.grid != self.grid:
            raise InvalidInput("This report was randomised in another way than the others. Count it separately.")
        if report.cells.shape != self.cells.shape or report.step != -1:
            raise InvalidInput("This report has the wrong shape for its question. Drop it.")
        self.cells += report.cells
        self.users += 1

    def release(self, radius: MixtureRadius, failure: float, guarantee: Guarantee) -> MixtureRelease:
        """What a learner may see. The noise has mean zero, so the sum is its own estimate."""
        gram, vector = self.form.unpack(np.asarray(self.cells * self.grid, dtype=np.float64))
        return MixtureRelease(self.form, self.users, gram, vector, radius, failure, guarantee)
