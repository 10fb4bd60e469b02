"""Questions about a linear mixture (not a linear MDP: see `gram`), and what a learner may see of the answers.

For each step h < H the answer is X X' and X Y, X = phi_V(s_h, a_h) and Y = V(s_{h+1}), where V = V_{h+1} is the public
value function of the policy in use (the last step has nothing to tell, as V_{H+1} = 0). A per-step model has a
regression for each step; in a stationary one theta is the same at all steps, and their sums are one. The *form* of the
answer is fixed before the first user is asked; each question adds the value function of the moment. In Algorithm 1 of Liao, He
and Gu (2021) a device works V out from what the server sends; here the server sends V itself, which is the same
function of the same public numbers, and smaller.

**Scaling.** E[Y] = <X, theta> holds for every function V, so any public change of V will do. `raw` takes V as it is;
`unit` divides it by its largest value; `centred` maps its range onto [-1, 1], which is allowed because
<phi_1(s,a), theta> = 1. In the last two the device works out the range from the V it received, so that one person's
influence is the same whatever the server sends.

**Cells.** Layer by layer and block by block: the upper triangle of X X' row by row, with the diagonal over sqrt 2, then
X Y. Noise of one standard deviation sigma in every cell is then the symmetric noise of `mechanisms.symmetric`, and the
l2 distance of cells prices it. Papers that add noise of one variance to the whole triangle do not divide (`even`).

**Price**, brute-forced in the tests. Write w for the weight of the Gram matrix: cells have
l2^2 = w ||dG||_F^2 + ||du||^2 with w = 1/2 if the diagonal is over sqrt 2; without that
||dG||_F^2/2 + sum of dG_ii^2/2 <= ||dG||_F^2, so w = 1 is safe. Two people have X, Y and
X', Y' in a step, p = ||X||, q = ||X'||, both at most B, |Y|, |Y'| <= v, and <X, X'> = -t p q. Then l2^2 is

    w (p^4 + q^4 - 2 t^2 p^2 q^2) + p^2 Y^2 + q^2 Y'^2 + 2 t p q Y Y'.

* If t <= 0 and Y, Y' >= 0 the terms in t only take away, so 2 w B^4 + 2 B^2 v^2: where no two features have a negative
  inner product and values are not negative.
* Otherwise, over all t the maximum is w (p^4 + q^4) + p^2 Y^2 + q^2 Y'^2 + (Y Y')^2/(2w) at t = Y Y'/(2 w p q), and all
  terms grow with p, q, |Y|, |Y'|. If v^2 <= 2 w B^2 it is reached at t <= 1: 2 w B^4 + 2 B^2 v^2 + v^4/(2w). If not,
  t = 1 is best: w (p^2 - q^2)^2 + (p |Y| + q |Y'|)^2 = (B + p)^2 (w (B - p)^2 + v^2) at q = B, which grows with p as
  w B^2/2 < v^2: 4 B^2 v^2. (w = 1/2, B = v: 4 v^4. w = 1, B = v: 4.5 v^4.)
* Where no coordinate is used by two pairs (one-hot), either the pairs differ and t = 0, so the diagonal is
  distinguished: B^4 + (2w - 1) Q + 2 B^2 v^2, Q bounding sum_i X_i^4; or they agree and X = X': B^2 (range of Y)^2.

A step that was not taken has X = 0, which is within all of these. Steps that have cells of their own add their squares;
steps that share cells (a stationary model) add their distances.
Rounding cells to a grid g moves the difference by at most g in each of the cells that two people can differ in.

**Noise**, in three calibrations, on devices and at a curator.

`paper`: noise of sigma = 4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon in the whole upper triangle of every d x d matrix and
in every vector, v = H for rewards in [0, 1] and 1 for rewards over H (Liao, He and Gu, 2021). `sound`: the same, raised
if need be until the claim is true. `tight`: one joint Gaussian over everything a report contains, on blocks where the
features have them, on value functions scaled to their public range, with twice the variance on the diagonal, pooled
over steps where the model is stationary.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError, InvalidInput, PrivacyError
from ...mdp import PER_STEP, STATIONARY, MixtureFeatures, Spec
from ...mechanisms.gaussian import FINE, Gaussian, sigma_for
from ...privacy import Act, Guarantee, Sensitivity
from ...privacy.guarantee import JOINT, LOCAL, NONE
from ..design import AUTO, PAPER, TIGHT, Design, Request
from ..releases.release import NO_NOISE, Noise
from .counts import MOST_CELLS, stacked
from .kind import Array, DesignMaker, Integers, Kind, Possible, by_trust, register
from .question import DIGEST_BYTES, Family, Range, Rounded

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law
    from .question import Member

RAW, UNIT, CENTRED = "raw", "unit", "centred"
FORMAT = "confide.mixture-question/1"
FORM_FORMAT = "confide.mixture-form/1"
RELEASE_FORMAT = "confide.mixture-release/1"
KIND = "mixture"
PAPER_NAME = "ldp-ucrl-vtr"
EXACT = 2.0**-32
"""The grid without privacy: fine enough to be exact for all that matters, and coarse enough to add up a million people."""

ASSUMPTIONS = (
    "one episode a person, at most the horizon long",
    "features, rewards and the range of the value function are public; a device refuses values outside their range",
)

ROUNDING = 1e-9
"""By how much, relatively, sums of floats may exceed a bound that holds for real numbers."""


@dataclass(frozen=True, eq=False)
class MixtureForm(Family, Rounded):
    """The family of mixture questions of a run, one for each value function; messages are summed whichever was asked about.

    ranges: (H,), ranges[h] bounds V_{h+2} in the papers' count of steps, the value after step h of 0 .. H-1; the last is 0.
    """

    spec: Spec
    features: MixtureFeatures
    ranges: Array
    scaling: str = RAW
    even: bool = False

    def __post_init__(self) -> None:
        validation.choice("scaling", self.scaling, (RAW, UNIT, CENTRED))
        ranges = validation.array("ranges", self.ranges, (self.spec.horizon,))
        if ranges.min() < 0:
            raise validation.refusal("ranges-negative", "ranges", "at least 0", float(ranges.min()))
        if self.spec.horizon < 2:
            raise validation.refusal(
                "mixture-horizon",
                "horizon",
                "at least 2",
                self.spec.horizon,
                "One step has no next state to learn about.",
            )
        sizes = (self.features.states, self.features.actions)
        if sizes != (self.spec.states, self.spec.actions):
            raise validation.refusal(
                "mixture-features-of-other-sizes",
                "features",
                f"for {self.spec}",
                f"{sizes[0]} states and {sizes[1]} actions",
            )
        object.__setattr__(self, "ranges", ranges)
        self.features.check_memory(self.layers)
        validation.integer("cells", self.cells, 1, MOST_CELLS, "Use fewer features, or features with blocks.")

    @property
    def kind(self) -> str:
        """`mixture`."""
        return KIND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions under which a guarantee about answers to it holds."""
        return ASSUMPTIONS

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing is remarked on."""
        return ()

    @cached_property
    def range(self) -> Range:
        """The bound on one cell: the largest |X|^2, or |X| |Y|, of its steps, all together where they share it."""
        most = np.array(
            [
                max(square, math.sqrt(square) * max(map(abs, self.reference(h))))
                for h, (square, _) in enumerate(self.bounds)
            ]
        )
        layer = most.sum(keepdims=True) if self.layers == 1 else most
        high = np.repeat(layer, self.cells // self.layers) * (1 + ROUNDING) + ROUNDING
        return Range(-high, high)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The largest change one person, replaced, makes to the cells of any question of this form, rounded to a grid."""
        return mixture_sensitivity(self, grid)

    def member_for(self, question: Member) -> MixtureQuestion:
        """The question itself, if the family holds it; else it is refused."""
        return self.member(question)

    def member(self, question: Member) -> MixtureQuestion:
        """A question of this form, which has checked its own values."""
        if not isinstance(question, MixtureQuestion) or question.form.digest != self.digest:
            raise InvalidInput(
                "question-of-other-form",
                "This statistic is of another form than its noise was made for. Request one of that form.",
            )
        return question

    def from_bytes_of_member(self, data: bytes) -> MixtureQuestion:
        """The question that wrote these bytes; refused if it is of another form, or out of the range that was priced."""
        return MixtureQuestion.from_bytes(data, self)

    @property
    def steps(self) -> int:
        """The steps that are asked about: all but the last."""
        return self.spec.horizon - 1

    @property
    def layers(self) -> int:
        """How many regressions there are: one, or one for each step."""
        return 1 if self.spec.dynamics == STATIONARY else self.steps

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
        """The factor of the diagonal in the cells."""
        return 1.0 if self.even else math.sqrt(0.5)

    def reference(self, step: int) -> tuple[float, float]:
        """The range of the scaled value function after a step."""
        return {RAW: (0.0, float(self.ranges[step])), UNIT: (0.0, 1.0), CENTRED: (-1.0, 1.0)}[self.scaling]

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Bounds of each step: the largest ||X||^2 and the largest sum of fourth powers of X, whatever is asked."""
        return tuple(self.features.norms(*self.reference(step)) for step in range(self.steps))

    def scaled(self, values: Array) -> tuple[Array, Array, Array]:
        """Scaled value functions (H-1, S), shifts and factors (H-1,): V_{h+1} = shift + factor scaled.

        A V without range becomes 0, and its factor 0: its expectation is known without a query.
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

    def to_bytes(self) -> bytes:
        """Versioned bytes, with the features."""
        spec = [self.spec.states, self.spec.actions, self.spec.horizon, self.spec.dynamics]
        ranges = self.ranges.astype("<f8").tobytes()
        body: bytes = msgpack.packb([FORM_FORMAT, spec, self.features.to_bytes(), ranges, self.scaling, self.even])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> MixtureForm:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, spec, features, ranges, scaling, even = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if name != FORM_FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORM_FORMAT!r}")
            bounds = np.frombuffer(ranges, dtype="<f8").astype(np.float64)
            return cls(Spec(*spec), MixtureFeatures.from_bytes(features), bounds, scaling, bool(even))
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "mixture-form-unreadable", f"These bytes are not a form of statistic this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint: a device answers only questions of the form it was made for."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


@dataclass(frozen=True, eq=False)
class MixtureQuestion(Family):
    """The form, and the value function (H+1, S) that devices are to use: V_h in [0, ranges[h-1]], the last 0.

    A value function outside its range is refused: the server is a device's adversary, and a larger V would be a larger
    influence of the person on her report.
    """

    form: MixtureForm
    values: Array

    @property
    def kind(self) -> str:
        """`mixture`."""
        return KIND

    @property
    def spec(self) -> Spec:
        """The sizes of the problem."""
        return self.form.spec

    def __post_init__(self) -> None:
        shape = (self.form.spec.horizon + 1, self.form.spec.states)
        values = validation.array("values", self.values, shape)
        most = self.form.ranges[:, None]
        outside = (values[1:] < 0) | (values[1:] > most * (1 + ROUNDING))
        if outside.any():
            step = int(outside.any(axis=1).argmax())
            raise PrivacyError(
                "values-out-of-range",
                f"The value function must lie in [0, {self.form.ranges[step]:g}] after step {step + 1}. It does not, "
                "so nothing was sent. The server must send values in their range.",
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
            raise FormatError(
                "mixture-question-unreadable", f"These bytes are not a statistic this device knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint that a report carries."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


def mixture_sensitivity(form: MixtureForm, grid: float = 0.0) -> Sensitivity:
    """The largest change one person, replaced, makes to the cells of any question of this form, rounded to a grid."""
    squares = [step_square(form, step) for step in range(form.steps)]
    shared = form.steps // form.layers
    touched = min(2 * shared, form.features.blocks) * form.block_cells * form.layers
    exact = math.sqrt(sum(squares)) if shared == 1 else sum(map(math.sqrt, squares))
    l2 = exact * (1 + ROUNDING) + grid * math.sqrt(touched)
    l1 = l2 * math.sqrt(touched)
    return Sensitivity(l1, l2, ((l1, 1),), touched)


def step_square(form: MixtureForm, step: int) -> float:
    """The squared l2 sensitivity of one step, without rounding."""
    low, high = form.reference(step)
    square, quartic = form.bounds[step]
    most, weight = max(abs(low), abs(high)) ** 2, 1.0 if form.even else 0.5
    apart = 2 * square * most
    if form.features.disjoint:
        return max(square**2 + (2 * weight - 1) * quartic + apart, square * (high - low) ** 2)
    apart += 2 * weight * square**2
    if low >= 0 and form.features.acute:
        return apart
    if most <= 2 * weight * square:
        return apart + most**2 / (2 * weight)
    return 4 * square * most


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
    noise: Noise = NO_NOISE

    def to_bytes(self) -> bytes:
        """Versioned bytes: cells, whom they are about, and their error; the form and the guarantee are the design's."""
        cells = self.form.pack(self.gram, self.vector).astype("<f8").tobytes()
        errors = [[float(number) for number in part] for part in (self.radius, self.noise)]
        return bytes(msgpack.packb([RELEASE_FORMAT, self.form.digest, self.users, self.failure, *errors, cells]))


class MixtureKind(Kind[MixtureForm, MixtureRelease]):
    """Gram sums of linear mixtures. Radii are in the order of `MixtureRadius`: gram, vector."""

    name = KIND
    answered = by_trust(local=("gaussian",), joint=("buffered-toeplitz",), none=("none",))
    unknown_in_pages = ("local", "joint")

    def read(self, data: bytes) -> MixtureForm:
        """The family of questions that wrote these bytes."""
        return MixtureForm.from_bytes(data)

    def designers(self) -> Mapping[str, DesignMaker]:
        """Gaussian noise on devices, a counter at a curator, or exact sums."""
        return {LOCAL: design_local, JOINT: design_joint, NONE: design_open}

    def estimate(self, question: MixtureForm, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """The noise has mean zero, so the sum is its own estimate."""
        return np.asarray(summed[0], dtype=np.float64)

    def radii(self, question: MixtureForm, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii: what noise of one standard deviation a cell does at most; matrices and vectors share the failure.

        The spectral radius is that of noise with twice the variance on the diagonal. With one variance everywhere it is
        smaller: what is missing has mean zero, and the largest eigenvalue is convex.
        """
        from ...mechanisms.symmetric import SymmetricGaussian
        from ...privacy.quantiles import chi_square_radius

        features, std = question.features, np.sqrt(law.variance())
        share = failure / (2 * question.layers * features.blocks)
        unit = SymmetricGaussian(1.0, 2.0**-20)  # on a fine grid radii are in proportion to noise
        matrix = std * unit.spectral_radius(features.size, share)
        vector = std * math.sqrt(chi_square_radius(features.dimension, failure / (2 * question.layers)))
        rounding = law.rounding
        return np.stack(
            [matrix + 2 * rounding * features.size, vector + rounding * math.sqrt(features.dimension)], axis=-1
        )

    def noise(self, question: MixtureForm, law: Law) -> Array:
        """The same variance in every cell."""
        return stacked(law.own, law.variance(), law.variance(), 1.0, 0.0)

    def backup_variance(self, question: MixtureForm, mechanism: Randomizer) -> float:
        """Centred values are spread twice as wide, so the same noise counts for a quarter."""
        return mechanism.variance() / (16 if question.scaling == CENTRED else 1)

    def signal(self, question: MixtureForm) -> tuple[int, float]:
        """The average eigenvalue of a Gram matrix, to which a person adds (steps a layer) |X|^2/d."""
        square, _ = question.features.norms(*question.reference(0))
        return 0, question.steps / question.layers * square / question.features.dimension

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> MixtureRelease:
        """Gram matrices and vectors with their errors."""
        form = self.question_of(design)
        gram, vector = form.unpack(cells)
        radius = MixtureRadius(*radii.tolist())
        return MixtureRelease(form, users, gram, vector, radius, design.release_failure, design.guarantee, noise)

    def read_release(self, data: bytes, design: Design) -> MixtureRelease:
        """Read what `to_bytes` wrote of a release by this design; refuse anything else."""
        form = self.question_of(design)
        try:
            name, digest, users, failure, radius, noise, raw = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if name != RELEASE_FORMAT or digest != form.digest:
                raise ValueError("it is of another format, or about another form of statistic")
            cells = validation.array("cells", np.frombuffer(raw, dtype="<f8").astype(np.float64), (form.cells,))
            radii = MixtureRadius(*(validation.between("radius", value, 0.0, 1e300) for value in radius))
            gram, vector = form.unpack(cells)
            return MixtureRelease(
                form,
                validation.integer("users", users, 0),
                gram,
                vector,
                radii,
                validation.between("failure", failure, 0.0, 1.0),
                design.guarantee,
                Noise(*(validation.number("noise", value) for value in noise)),
            )
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "release-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error

    def packed(self, release: MixtureRelease) -> Array:
        """(cells,) the cells that a release was unpacked from."""
        return release.form.pack(release.gram, release.vector)


MIXTURE = register(MixtureKind())


def _form(problem: MixtureForm, calibration: str) -> MixtureForm:
    if calibration != TIGHT:
        return MixtureForm(
            problem.spec.with_dynamics(PER_STEP), problem.features.dense(), problem.ranges, RAW, even=True
        )
    forms = [replace(problem, scaling=scaling) for scaling in (UNIT, CENTRED)]
    # Centred values are spread twice as wide, so the same noise counts for a quarter.
    return min(forms, key=lambda form: form.price().l2 / (4 if form.scaling == CENTRED else 1))


def _needs_delta(promise: Guarantee) -> None:
    if promise.rho is None and promise.delta == 0:
        raise InvalidInput(
            "mixture-needs-delta",
            "Gram matrices are hidden by Gaussian noise, which needs delta above 0. Got delta 0. Give one such as 1e-6.",
        )


def design_local(request: Request) -> Design:
    """The design under local trust: Gaussian noise on every cell of a report."""
    validation.choice("mechanism", request.mechanism, (AUTO, "gaussian"))
    promise, ours = request.promise, request.calibration == TIGHT
    _needs_delta(promise)
    form = _form(MIXTURE.question_of(request), request.calibration)
    grid = _grid(form, sigma_for(promise, form.price().l2, 0.0))
    if not ours:
        grid = min(grid, _grid(form, printed_sigma(form, promise, request.printing)))
    size = form.price(grid)
    sigma = sigma_for(promise, size.l2, 0.0 if promise.rho is not None else grid)
    if not ours:
        stated = printed_sigma(form, promise, request.printing)
        sigma = stated if request.calibration == PAPER else max(stated, sigma)
    return request.design(form, Act(Gaussian(sigma, grid), size), paper="" if ours else PAPER_NAME)


ONE_STEP = "one-step"
"""The printing with H = 1, where LDP-UCRL-VTR is the linear bandits of Zheng et al. (2020); a second step pays the reward."""


def printed_sigma(form: MixtureForm, promise: Guarantee, printing: str = "") -> float:
    """4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon, v = H times the largest reward: 4 H^3 ... for rewards up to 1.

    In the printing of one step H is 1 and v the largest reward.
    """
    if printing and (printing != ONE_STEP or form.spec.horizon != 2):
        raise InvalidInput(
            "paper-printing-one-step",
            f"printing must be {ONE_STEP!r}, of worlds with one decision and a step that pays it. Got {printing!r} with "
            f"{form.spec.horizon} steps. Leave it out.",
        )
    if promise.epsilon is None:
        raise InvalidInput(
            "paper-mixture-needs-epsilon",
            "The paper's noise is stated in epsilon, not rho. Give epsilon and delta, or use tight.",
        )
    horizon = form.spec.horizon
    v = float(form.ranges[0]) * horizon / (horizon - 1)
    if printing == ONE_STEP:
        horizon, v = 1, float(form.ranges[0])
    return 4 * horizon * v**2 * math.sqrt(2 * math.log(2.5 * horizon / promise.delta)) / promise.epsilon


def design_joint(request: Request) -> Design:
    """The design under joint trust: a continual counter over all cells, each person's cells rounded to its grid."""
    validation.choice("mechanism", request.mechanism, (AUTO, "buffered-toeplitz"))
    _needs_delta(request.promise)
    if request.calibration == PAPER:
        raise InvalidInput(
            "paper-without-joint",
            "The paper has no joint privacy, so there is nothing to reproduce. Use sound or tight.",
        )
    from ...mechanisms.buffered import BufferedToeplitzCounter

    form, releases = _form(MIXTURE.question_of(request), request.calibration), request.schedule.releases
    grid = 2.0 ** math.floor(math.log2(_grid(form, math.inf) / math.sqrt(releases)))
    size = form.price(grid)
    sigma = BufferedToeplitzCounter.sigma_for(request.promise.mu(), size, releases, grid)
    return request.design(form, Act(BufferedToeplitzCounter(releases, sigma, grid), size))


def design_open(request: Request) -> Design:
    """The design without privacy: exact sums."""
    from ...mechanisms.exact import ExactCounter

    form = replace(MIXTURE.question_of(request), scaling=RAW)
    counter = ExactCounter(request.schedule.releases, EXACT)
    return request.design(form, Act(counter, form.price(EXACT)), calibration="none")


def _grid(form: MixtureForm, sigma: float) -> float:
    """A power of two that is fine for sigma, and so fine that rounding costs at most a thousandth of sensitivity."""
    size = form.price()
    most = min(1.0, sigma / (4 * FINE), 1e-3 * size.l2 / math.sqrt(size.cells))
    return 2.0 ** math.floor(math.log2(most))
