"""Second moments of features: fixed sums of x x' and x y', from which linear rewards and next states are learned, online or
at once.

x = phi(s, a) are described features (`mdp.described`) of a state with the action taken, and y = (beta (r - 1/2), eta
psi(s')) what came
of it: the reward in [0, 1], and public features of the next state; in a problem of one step the reward alone. Every block of
features
(an action, or all of them) of every layer (a step, or all of them) has cells of its own: the sums over a person's steps of

    G = sum x x'  (d, d),      B = sum x y'  (d, 1 + q).

These are the same sums whichever values are planned with, so that one question serves every round.

**Cells.** Layer by layer and block by block: the upper triangle of G row by row, the diagonal over sqrt 2, then B row by
row. Noise of one
deviation in every cell is then symmetric noise with doubled variance on the diagonal, and with dG, dB what replacing a
person moves,
l2^2 = |dG|_F^2/2 + |dB|_F^2, over all blocks and layers.

**Clip.** A person sends c (G, B) with c = min(1, C_g/|G|_F, C_b/|B|_F), norms over all her blocks and layers together: c x
x' and c x y' are
those of sqrt(c) x and sqrt(c) y, so that what is regressed stays the same and long or unusual episodes weigh less.

**Price.** Replace one person by another, with clipped G, B and G', B'.

* Several steps. G and G' are positive semidefinite, block by block, so <G, G'> >= 0 and |G - G'|_F^2 <= |G|_F^2 + |G'|_F^2
  <= 2 C_g^2. The
  vectors may be opposite: |B - B'|_F <= 2 C_b. Together l2^2 <= **C_g^2 + 4 C_b^2**, pooled or per step, in one block or
  several; clipping each of
  H steps by itself would add up distances instead.
* One step, where C_b = v sqrt(C_g), v = beta/2 >= |y|. Then G = x x', B = x y with |x|^2 <= C_g and, as c <= 1, |y| <= v.
  This is the rank-one case that
  `kinds.mixture` works out, with weight w = 1/2 and bound C_g in place of B^2: in the same block C_g^2 + 2 C_g v^2 + v^4 if
  v^2 <= C_g, else 4 C_g v^2; in
  different blocks, C_g^2 + 2 C_g v^2, which is never more. At C_g = 1 and v = 1/2 that is 1.5625, where the rule above gives 2.

Nothing of this depends on what y is made of, so increments have the same price. A step that was not taken adds nothing, which is
within both. Rounding cells to a grid g moves the difference of two people
by at most g
in each of the cells that they fill: g sqrt(cells) is added to the l2, and a part of 1e-9, as norms and clips are computed in
floats.

**Under shuffle** devices add shares of Skellam noise (`mechanisms.skellam`) to their cells on a coarser grid, of `SHARED` to twice
as many points to the l2, since the account takes time in proportion to its square. Rounding is charged as above.

Nothing that a server sends changes what a person answers: a device computes x from the description that was priced.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError, InvalidInput
from ...mdp import PER_STEP, STATIONARY, Spec
from ...mdp.described import DescribedFeatures, usual
from ...mechanisms.gaussian import FINE, Gaussian, sigma_for
from ...mechanisms.privunit import PrivUnit
from ...privacy import Act, Guarantee, Sensitivity
from ...privacy.guarantee import CENTRAL, JOINT, LOCAL, NONE, SHUFFLE
from ..design import AUTO, PAPER, TIGHT, Design, Request
from ..releases.release import NO_NOISE, Noise
from .counts import MOST_CELLS, stacked
from .kind import Array, DesignMaker, Integers, Kind, Possible, by_trust, find, register
from .question import DIGEST_BYTES, AboutEpisodes, Member, Question, Range, Rounded, only

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..laws import Law

KIND = "moments"
FORMAT = "confide.moments-question/1"
RELEASE_FORMAT = "confide.moments-release/1"
SHUFFLED = 12.0
"""How many deviations of a batch's noise the first batches of a shuffler show; of 1/2 to 64, tried on bandits of seeds 0 to 5."""
SHARED = 64
"""Grid points that the l2 of two people has, at least, where devices add shares of noise."""
WIDENING = 0.1
"""Later batches have this share of all users before."""
EXACT = 2.0**-32
"""The grid without privacy, as `kinds.mixture` has it."""
ROUNDING = 1e-9
"""By how much, relatively, norms that were clipped in floats may exceed their bound."""

REWARD_WEIGHT, NEXT_WEIGHT, CLIPPED_AT = 1.5, 1.0, 0.5
"""beta and eta, and at which part of what a typical person could send every user is clipped: chosen on simulated worlds."""
LOGGED_REWARD, LOGGED_GRAM, LOGGED_VECTOR = 0.5, 0.3, 0.09
"""Of logs, whose increments are summed: beta, and at which parts of H steps of a usual state G and B are clipped; chosen on logs of
`lab.environments.vitals` of seeds 100 to 103."""


@dataclass(frozen=True)
class MomentsQuestion(AboutEpisodes, Rounded):
    """Sums of x x' and x y'. reward_weight, next_weight: beta and eta; gram_bound, vector_bound: C_g and C_b. increments: whether
    psi(s') - psi(s) is summed instead of psi(s')."""

    features: DescribedFeatures
    horizon: int
    dynamics: str
    reward_weight: float
    next_weight: float
    gram_bound: float
    vector_bound: float
    increments: bool = False

    def __post_init__(self) -> None:
        validation.integer("horizon", self.horizon, 1)
        validation.choice("model", self.dynamics, (STATIONARY, PER_STEP))
        object.__setattr__(self, "reward_weight", validation.positive("reward_weight", self.reward_weight))
        object.__setattr__(self, "gram_bound", validation.positive("gram_bound", self.gram_bound))
        object.__setattr__(self, "vector_bound", validation.positive("vector_bound", self.vector_bound))
        object.__setattr__(self, "next_weight", validation.between("next_weight", self.next_weight, 0.0, 1e6))
        if self.single and not math.isclose(
            self.vector_bound, self.reward_weight / 2 * math.sqrt(self.gram_bound), rel_tol=1e-12
        ):
            rule = "half the weight of rewards times the root of the bound on x x', for one step"
            raise validation.refusal("moments-vector-bound", "vector_bound", rule, self.vector_bound)
        if not isinstance(self.increments, bool) or (self.increments and self.single):
            raise validation.refusal(
                "moments-increments", "increments", "true or false, and false of one step", self.increments
            )
        validation.integer("cells", self.cells, 1, MOST_CELLS, "Use fewer features.")

    @classmethod
    def of(
        cls,
        features: DescribedFeatures,
        horizon: int,
        dynamics: str = STATIONARY,
        reward_weight: float = REWARD_WEIGHT,
        next_weight: float = NEXT_WEIGHT,
        clipped_at: float = CLIPPED_AT,
    ) -> MomentsQuestion:
        """The question with bounds that follow from the public cloud: of one step x is clipped at length 1; of several, each sum at
        `clipped_at` times what H steps of a typical state would give in one cell block."""
        if horizon == 1:
            return cls(features, 1, STATIONARY, reward_weight, 0.0, 1.0, reward_weight / 2)
        x = features.all_x(features.cloud)
        square = float((x**2).sum(axis=-1).mean())
        spread = reward_weight**2 / 4 + next_weight**2 * float((features.psi(features.cloud) ** 2).sum(axis=-1).mean())
        steps = horizon if dynamics == STATIONARY else math.sqrt(horizon)
        bounds = steps * clipped_at * square, steps * clipped_at * math.sqrt(square * spread)
        return cls(features, horizon, dynamics, reward_weight, next_weight, *bounds)

    @classmethod
    def logged(cls, features: DescribedFeatures, horizon: int) -> MomentsQuestion:
        """The question to a log: increments, with bounds that follow from how states are usually spread (`mdp.described.usual`); of
        one step as `of` has it."""
        if horizon == 1:
            return cls.of(features, 1)
        points = usual(features.inputs)
        square = float((features.all_x(points) ** 2).sum(axis=-1).mean())
        spread = float((features.psi(points) ** 2).sum(axis=-1).mean())
        vector = LOGGED_VECTOR * math.sqrt(square * (LOGGED_REWARD**2 / 4 + NEXT_WEIGHT**2 * spread))
        bounds = horizon * LOGGED_GRAM * square, horizon * vector
        return cls(features, horizon, STATIONARY, LOGGED_REWARD, NEXT_WEIGHT, *bounds, increments=True)

    @property
    def kind(self) -> str:
        """`moments`."""
        return KIND

    @property
    def spec(self) -> Spec:
        """The sizes of the problem; its states are one where they are no list."""
        return Spec(self.features.states, self.features.actions, self.horizon, self.dynamics)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """One episode a person, rewards in [0, 1], and that the description is public."""
        described = (
            "the description of features, its ranges and its bounds are public and were chosen without a look at data"
        )
        return (*super().assumptions, described)

    @property
    def described(self) -> DescribedFeatures | None:
        """The description of the features."""
        return self.features

    @property
    def single(self) -> bool:
        """Whether there is one step, and so nothing to foresee."""
        return self.horizon == 1

    @property
    def layers(self) -> int:
        """1, or H where every step has sums of its own."""
        return 1 if self.dynamics == STATIONARY else self.horizon

    @property
    def targets(self) -> int:
        """1 + q: the reward, and features of the next state."""
        return 1 if self.single else 1 + self.features.ahead

    @property
    def block_cells(self) -> int:
        """The cells of one block."""
        size = self.features.dimension
        return size * (size + 1) // 2 + size * self.targets

    @property
    def cells(self) -> int:
        """The length of the flat vector."""
        return self.layers * self.features.blocks * self.block_cells

    @cached_property
    def range(self) -> Range:
        """No cell exceeds the norm that it is a part of."""
        size = self.features.dimension
        part = np.repeat([self.gram_bound, self.vector_bound], [size * (size + 1) // 2, size * self.targets])
        high = np.tile(part, self.layers * self.features.blocks) * (1 + ROUNDING) + ROUNDING
        return Range(-high, high)

    @property
    def length(self) -> float:
        """No person's cells, as a vector, are longer: sqrt(C_g^2/2 + C_b^2)."""
        return math.sqrt(self.gram_bound**2 / 2 + self.vector_bound**2) * (1 + ROUNDING)

    @property
    def touched(self) -> int:
        """The most cells in which two people differ: each fills one block a step at most."""
        blocks = self.features.blocks
        filled = self.layers * min(blocks, 2 * (1 if self.layers > 1 else self.horizon))
        return filled * self.block_cells

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity that is proved in the docstring of this module."""
        gram, vector = self.gram_bound, self.vector_bound
        if self.single:
            most = (self.reward_weight / 2) ** 2
            square = gram**2 + 2 * gram * most + most**2 if most <= gram else 4 * gram * most
        else:
            square = gram**2 + 4 * vector**2
        l2 = math.sqrt(square) * (1 + ROUNDING) + grid * math.sqrt(self.touched)
        l1 = l2 * math.sqrt(self.touched)
        return Sensitivity(l1, l2, ((l1, 1),), self.touched)

    def member(self, question: Member) -> MomentsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Member) -> MomentsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def pack(self, gram: Array, vector: Array) -> Array:
        """(cells,) of G (L, blocks, d, d) and B (L, blocks, d, 1 + q)."""
        size = self.features.dimension
        upper = np.triu_indices(size)
        scaled = gram / (1 + (math.sqrt(2) - 1) * np.eye(size))
        flat = [scaled[..., upper[0], upper[1]], vector.reshape(*vector.shape[:2], -1)]
        return np.asarray(np.concatenate(flat, axis=-1)).reshape(-1)

    def unpack(self, cells: Array) -> tuple[Array, Array]:
        """G and B of cells: the inverse of `pack`."""
        size, blocks = self.features.dimension, self.features.blocks
        parts = cells.reshape(self.layers, blocks, self.block_cells)
        upper = np.triu_indices(size)
        many = len(upper[0])
        gram = np.zeros((self.layers, blocks, size, size))
        gram[..., upper[0], upper[1]] = parts[..., :many]
        gram = np.triu(gram, 1) + np.swapaxes(np.triu(gram, 1), -1, -2) + math.sqrt(2) * gram * np.eye(size)
        return gram, parts[..., many:].reshape(self.layers, blocks, size, self.targets)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        numbers = [self.reward_weight, self.next_weight, self.gram_bound, self.vector_bound]
        numbers += [True] if self.increments else []
        return bytes(msgpack.packb([FORMAT, self.features.to_bytes(), self.horizon, self.dynamics, *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> MomentsQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, described, *rest = msgpack.unpackb(data, max_array_len=9, max_str_len=64)
            if name != FORMAT or rest[6:] not in ([], [True]):
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            return cls(DescribedFeatures.from_bytes(described), *rest)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "moments-question-unreadable",
                f"These bytes are not a statistic of moments this version knows: {error}",
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


class MomentsRadius(NamedTuple):
    """Bounds of the error of any G, in its largest eigenvalue without its sign, and of any B, in its norm."""

    gram: float
    vector: float


@dataclass(frozen=True, eq=False)
class MomentsRelease:
    """Summed G (L, blocks, d, d) and B (L, blocks, d, 1 + q) of `users` people.

    noise: its variance in every cell of the question, so that G has it off the diagonal and twice as much on it. radius: no
    G is off by
    more than the first in its largest eigenvalue, signs dropped, and no B by more than the second in its norm, all at once, but for
    the probability `failure`.
    """

    question: MomentsQuestion
    users: int
    gram: Array
    vector: Array
    radius: MomentsRadius
    failure: float
    guarantee: Guarantee
    noise: Noise = NO_NOISE

    def to_bytes(self) -> bytes:
        """Versioned bytes: cells, whom they are about, and their error; the question and the guarantee are the design's."""
        cells = self.question.pack(self.gram, self.vector).astype("<f8").tobytes()
        errors = [[float(number) for number in part] for part in (self.radius, self.noise)]
        return bytes(msgpack.packb([RELEASE_FORMAT, self.question.digest, self.users, self.failure, *errors, cells]))


class MomentsKind(Kind[MomentsQuestion, MomentsRelease]):
    """Sums of x x' and x y'. Radii: of the largest eigenvalue of a G, and of the norm of a B."""

    name = KIND
    answered = by_trust(
        local=("gaussian", "privunit"),
        shuffle=("skellam",),
        joint=("buffered-toeplitz",),
        central=("gaussian",),
        none=("none",),
    )

    def read(self, data: bytes) -> MomentsQuestion:
        """The question that wrote these bytes."""
        return MomentsQuestion.from_bytes(data)

    def designers(self) -> Mapping[str, DesignMaker]:
        """PrivUnit, Gaussian noise or shares of noise on devices; at a curator Gaussian noise or a counter; or exact sums."""
        return {
            LOCAL: design_local,
            SHUFFLE: design_shuffle,
            CENTRAL: design_gaussian,
            JOINT: design_joint,
            NONE: design_open,
        }

    def estimate(self, question: MomentsQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """The noise has mean zero, so the sum is its own estimate."""
        return np.asarray(summed[0], dtype=np.float64)

    def radii(self, question: MomentsQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii of noise of one standard deviation a cell; matrices and vectors share the failure."""
        from ...mechanisms.symmetric import SymmetricGaussian
        from ...privacy.quantiles import chi_square_radius

        size, std = question.features.dimension, np.sqrt(law.variance())
        share = failure / (2 * question.layers * question.features.blocks)
        long = law.lengths(share, size * (size + 1) // 2)
        if long is not None:  # |G|_F^2 is twice the sum of its cells' squares, and no eigenvalue exceeds |G|_F
            targets = law.lengths(share, size * question.targets)
            return np.stack([math.sqrt(2) * long, np.asarray(targets)], axis=-1)
        unit = SymmetricGaussian(1.0, 2.0**-20)  # on a fine grid radii are in proportion to noise
        matrix = std * unit.spectral_radius(size, share)
        vector = std * math.sqrt(chi_square_radius(size * question.targets, share))
        rounding = law.rounding
        return np.stack([matrix + 2 * rounding * size, vector + rounding * math.sqrt(size * question.targets)], axis=-1)

    def noise(self, question: MomentsQuestion, law: Law) -> Array:
        """The same variance in every cell."""
        return stacked(law.own, law.variance(), law.variance(), 1.0, 0.0)

    def backup_variance(self, question: MomentsQuestion, mechanism: Randomizer) -> float:
        """That of a cell of B, in rewards."""
        return float(mechanism.variance() / question.reward_weight**2)

    def signal(self, question: MomentsQuestion) -> tuple[int, float]:
        """The average eigenvalue of a Gram matrix, to which a person adds C_g/d at most, spread over blocks and layers."""
        shared = question.features.blocks * (math.sqrt(question.layers) if question.layers > 1 else 1.0)
        return 0, question.gram_bound / (question.features.dimension * shared)

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> MomentsRelease:
        """Gram matrices and vectors with their errors."""
        question = self.question_of(design)
        gram, vector = question.unpack(cells)
        radius = MomentsRadius(*radii.tolist())
        return MomentsRelease(question, users, gram, vector, radius, design.release_failure, design.guarantee, noise)

    def read_release(self, data: bytes, design: Design) -> MomentsRelease:
        """Read what `to_bytes` wrote of a release by this design; refuse anything else."""
        question = self.question_of(design)
        try:
            name, digest, users, failure, *errors, raw = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if (name, digest) != (RELEASE_FORMAT, question.digest):
                raise ValueError("it is of another format, or about another statistic")
            radius, noise = ([validation.number("errors", value) for value in part] for part in errors)
            numbers = np.frombuffer(raw, dtype="<f8").astype(np.float64)
            sums = question.unpack(validation.array("cells", numbers, (question.cells,)))
            people, chance = validation.integer("users", users, 0), validation.between("failure", failure, 0.0, 1.0)
            return MomentsRelease(
                question, people, *sums, MomentsRadius(*radius), chance, design.guarantee, Noise(*noise)
            )
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "release-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error

    def packed(self, release: MomentsRelease) -> Array:
        """(cells,) the cells that a release was unpacked from."""
        return release.question.pack(release.gram, release.vector)


MOMENTS = register(MomentsKind())


class Clipped(Question, Protocol):
    """A question whose answers are vectors of bounded length, of numbers that are rounded to a grid: `moments`, `targets`."""

    @property
    def length(self) -> float:
        """No person's cells, as a vector, are longer."""
        ...


def _question(request: Request, gaussian: bool = True) -> Clipped:
    promise = request.promise
    if gaussian and promise.private and promise.rho is None and promise.delta == 0:
        raise InvalidInput(
            "moments-need-delta",
            "Gaussian noise on sums of features needs delta above 0. Got delta 0. Give one such as 1e-6.",
        )
    if request.calibration == PAPER:
        raise InvalidInput("moments-calibration", "No paper asks for these sums of features. Use tight.")
    asked: Clipped = find(request.question.kind).question_of(request)
    return asked


def design_local(request: Request) -> Design:
    """PrivUnit where the guarantee has an epsilon, else Gaussian noise. Reports of one person take equal parts of it."""
    validation.choice("mechanism", request.mechanism, (AUTO, "gaussian", "privunit"))
    pure = request.calibration == TIGHT and request.promise.rho is None
    if request.mechanism == "gaussian" or (request.mechanism == AUTO and not pure):
        return design_gaussian(request)
    question = _question(request, gaussian=False)
    validation.integer("episodes of a person in one report", request.episodes, 1, 1)
    epsilon = request.promise.pure_epsilon(request.share) / request.participation.times
    mechanism = PrivUnit.best(epsilon, question.cells, question.length)
    act = Act(mechanism, question.price(mechanism.grid), times=request.participation.times)
    return request.design(question, act)


def design_gaussian(request: Request) -> Design:
    """Gaussian noise on every cell: of each report, or of the sum of a whole data set."""
    validation.choice("mechanism", request.mechanism, (AUTO, "gaussian"))
    question, promise, episodes = _question(request), request.promise, float(request.episodes)
    if request.share != 1:
        raise InvalidInput(
            "moments-share",
            f"Sums of features take all of a guarantee. Got a share of {request.share:g}. Ask for nothing beside them.",
        )
    grid = _grid(question, sigma_for(promise, question.price().l2 * episodes, 0.0))
    size = question.price(grid)
    size = replace(
        size.scaled(episodes), cells=size.cells * request.episodes
    )  # group privacy: of this many episodes of one person
    sigma = sigma_for(promise, size.l2, 0.0 if promise.rho is not None else grid)
    return request.design(question, Act(Gaussian(sigma, grid), size))


def design_joint(request: Request) -> Design:
    """A continual counter over all cells, each person's cells rounded to its grid."""
    validation.choice("mechanism", request.mechanism, (AUTO, "buffered-toeplitz"))
    from ...mechanisms.buffered import BufferedToeplitzCounter

    question, releases = _question(request), request.schedule.releases
    grid = 2.0 ** math.floor(math.log2(_grid(question, math.inf) / math.sqrt(releases)))
    size = question.price(grid)
    sigma = BufferedToeplitzCounter.sigma_for(request.promise.mu(), size, releases, grid)
    return request.design(question, Act(BufferedToeplitzCounter(releases, sigma, grid), size))


def design_shuffle(request: Request) -> Design:
    """Shares of Skellam noise, which add up to enough in every batch of a shuffler."""
    from ..trusts.shuffle import share_noise

    question = _question(request)
    grid = 2.0 ** math.floor(math.log2(question.price().l2 / SHARED))
    return share_noise(question, request, grid)


def design_open(request: Request) -> Design:
    """Exact sums, without privacy."""
    from ...mechanisms.exact import ExactCounter

    question = _question(request)
    counter = ExactCounter(request.schedule.releases, EXACT)
    return request.design(question, Act(counter, question.price(EXACT)), calibration="none")


def first_batch(question: MomentsQuestion, promise: Guarantee) -> int:
    """How many people the first batch of a schedule has: five for every weight, or as many as show it beyond the noise of a
    counter's cell after
    a hundred releases, or several times that of one batch of a shuffler, if that is more."""
    weights = question.features.blocks * question.features.dimension
    releases = {JOINT: math.sqrt((math.log(100) + 3.35) / math.pi), SHUFFLE: SHUFFLED}.get(promise.trust, 0.0)
    noise = question.price().l2 / promise.mu() * releases if releases else 0.0
    return max(1, round(weights * max(5.0, noise / question.gram_bound)))


def _grid(question: Clipped, sigma: float) -> float:
    """A power of two that is fine for sigma, and so fine that rounding costs at most a thousandth of sensitivity."""
    size = question.price()
    most = min(1.0, sigma / (4 * FINE), 1e-3 * size.l2 / math.sqrt(size.cells))
    return 2.0 ** math.floor(math.log2(most))
