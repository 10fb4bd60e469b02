"""Feature targets of a linear mixture: one short vector a person, from which theta is learned, whatever policy they followed.

In P(s'|s,a) = <phi(s'|s,a), theta> with phi public, let psi = phi/|phi| (0 where phi is). Then

    E[psi(s'|s,a)] = G(s,a) theta,    G(s,a) = sum_s' phi phi'/|phi|,

and G is public, so that Gram matrices need not be asked for: how often (s, a) is visited follows from the policy and from what is
known of theta. A person sends the sum over steps h < H (nothing follows the last)

    z = sum_h [psi(s_{h+1}|s_h,a_h) - G(s_h,a_h) theta_0],    with c z in its place, c = min(1, C/|z|),

theta_0 being public: for known models that are mixed, their average. In a model per step every step has cells of its own, and the
norm is that of all of them together. Nothing that a server sends changes what a person answers, so that one question serves every
round, and its sums go through the same counters as tables.

**Price.** |c z| <= C for every person, so two of them are at most **2 C** apart; they are where their sums point in opposite
directions and both are clipped, so no less would do. Rounding cells to a grid g moves the difference of two people by at most g in
every cell: g sqrt(cells) is added, and a part of 1e-9, as norms are computed in floats.

C is `CLIPPED_AT` of sqrt(H - 1) times the largest root mean square of psi - G theta_0 in any pair, under the average model: a
public number. Most people are clipped then, which costs little: noise is in proportion to C, and so is what is seen of a person.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError
from ...mdp import STATIONARY, MixtureFeatures, Spec
from ...privacy import Guarantee, Sensitivity
from ...privacy.guarantee import JOINT, LOCAL, NONE, SHUFFLE
from ..releases.release import NO_NOISE, Noise
from .counts import MOST_CELLS, stacked
from .kind import Array, DesignMaker, Integers, Kind, Possible, by_trust, register
from .moments import design_joint, design_local, design_open, design_shuffle
from .question import DIGEST_BYTES, AboutEpisodes, Member, Range, Rounded, only, spread

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..design import Design
    from ..laws import Law

KIND = "targets"
FORMAT = "confide.targets-question/1"
RELEASE_FORMAT = "confide.targets-release/1"
CLIPPED_AT = 0.7
"""C in units of what a typical person sends: of 0.35 to 2, tried on mixtures of seeds 0 to 9, all up to 0.7 are alike."""
FIRST, WIDENING = 50, 0.5
"""Batches have at least this many people, and this share of all before: tried on the same worlds."""
FIRST_SHUFFLED = 600
"""The same where every batch has noise of its own."""
ROUNDING = 1e-9
"""By how much, relatively, norms that were clipped in floats may exceed their bound."""
ASSUMED = "features, rewards and first states are public, and were chosen without a look at data"


@dataclass(frozen=True, eq=False)
class TargetsQuestion(AboutEpisodes, Rounded):
    """The features of a linear mixture with sizes; centre: (d,) theta_0; bound: C."""

    spec: Spec
    features: MixtureFeatures
    centre: Array
    bound: float

    def __post_init__(self) -> None:
        if self.spec.horizon < 2:
            raise validation.refusal("targets-horizon", "horizon", "at least 2: one step shows no next state", 1)
        sizes = self.features.states, self.features.actions
        if sizes != (self.spec.states, self.spec.actions) or self.features.blocks > 1:
            raise validation.refusal(
                "targets-features", "features", f"in one block, for {self.spec}", f"{self.features.blocks}, {sizes}"
            )
        centre = validation.array("centre", self.centre, (self.features.dimension,))
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "bound", validation.positive("bound", self.bound))
        validation.integer("cells", self.cells, 1, MOST_CELLS, "Use fewer features.")

    @classmethod
    def of(cls, spec: Spec, features: MixtureFeatures, clipped: bool = True) -> TargetsQuestion:
        """The question with a bound that follows from the features alone. clipped: False for a bound that no user exceeds."""
        dense = features.dense()
        phi = dense.maps[dense.which]
        rows = phi.sum(axis=2).reshape(-1, dense.dimension)
        centre = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
        apart = _deviations(phi, centre)
        steps = spec.horizon - 1
        if not clipped:
            return cls(spec, dense, centre, max(steps * float(np.linalg.norm(apart, axis=-1).max()), 1e-6))
        average = np.maximum(phi @ centre, 0.0)
        average /= np.maximum(average.sum(axis=-1, keepdims=True), 1e-300)
        squares = (average * (apart**2).sum(axis=-1)).sum(axis=-1)
        return cls(spec, dense, centre, CLIPPED_AT * math.sqrt(steps * max(float(squares.max()), 1e-12)))

    @property
    def kind(self) -> str:
        """`targets`."""
        return KIND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """One episode a person, and that the features are public."""
        return super().assumptions[0], ASSUMED

    @property
    def steps(self) -> int:
        """The steps that show something: all but the last."""
        return self.spec.horizon - 1

    @property
    def layers(self) -> int:
        """1, or one for every step."""
        return 1 if self.spec.dynamics == STATIONARY else self.steps

    @property
    def cells(self) -> int:
        """The length of the flat vector."""
        return self.layers * self.features.dimension

    @cached_property
    def phi(self) -> Array:
        """(S, A, S, d) the features, in the order s, a, s'."""
        return self.features.maps[self.features.which]

    @cached_property
    def gram(self) -> Array:
        """(S, A, d, d) G."""
        return np.asarray(np.swapaxes(_directions(self.phi), -1, -2) @ self.phi)

    def vectors(self, states: Integers, actions: Integers) -> Array:
        """(n, cells) z of people, before any clip: states (n, T+1), actions (n, T)."""
        people, steps = actions.shape
        summed = np.zeros((people, self.layers, self.features.dimension))
        for step in range(min(steps, self.steps)):
            layer = step if self.layers > 1 else 0
            summed[:, layer] += self.deviations[states[:, step], actions[:, step], states[:, step + 1]]
        return summed.reshape(people, self.cells)

    def factors(self, vectors: Array) -> Array:
        """(n,) c = min(1, C/|z|)."""
        return np.asarray(self.bound / np.maximum(np.linalg.norm(vectors, axis=1), self.bound))

    @cached_property
    def plane(self) -> Array:
        """(d, d-1) a basis of the directions in which coordinates of theta add up to nothing."""
        size = self.features.dimension
        return np.asarray(np.linalg.eigh(np.ones((size, size)))[1][:, :-1])

    @property
    def models(self) -> bool:
        """Whether every feature is a model of its own, so that theta is the proportions in which they are mixed."""
        return bool(self.phi.min() >= 0 and np.abs(self.phi.sum(axis=2) - 1).max() < 1e-9)

    @cached_property
    def deviations(self) -> Array:
        """(S, A, S, d) psi - G theta_0, in the order s, a, s'."""
        return _deviations(self.phi, self.centre)

    @cached_property
    def range(self) -> Range:
        """No cell exceeds the norm."""
        high = self.bound * (1 + ROUNDING) + ROUNDING
        return spread(-high, high, self.cells)

    @property
    def length(self) -> float:
        """No person's vector is longer."""
        return self.bound * (1 + ROUNDING)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity that is proved in the docstring of this module."""
        l2 = 2 * self.bound * (1 + ROUNDING) + grid * math.sqrt(self.cells)
        l1 = l2 * math.sqrt(self.cells)
        return Sensitivity(l1, l2, ((l1, 1),), self.cells)

    def member(self, question: Member) -> TargetsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Member) -> TargetsQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        spec = [self.spec.states, self.spec.actions, self.spec.horizon, self.spec.dynamics]
        numbers = self.centre.astype("<f8").tobytes(), self.bound
        return bytes(msgpack.packb([FORMAT, spec, self.features.to_bytes(), *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> TargetsQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, spec, features, centre, bound = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            middle = np.frombuffer(centre, dtype="<f8").astype(np.float64)
            return cls(Spec(*spec), MixtureFeatures.from_bytes(features), middle, bound)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "targets-question-unreadable", f"These bytes are not a statistic of targets this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of the question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


def _directions(phi: Array) -> Array:
    """phi/|phi|, and 0 where phi is."""
    norms = np.linalg.norm(phi, axis=-1, keepdims=True)
    return np.asarray(phi / np.where(norms > 0, norms, 1.0))


def _deviations(phi: Array, centre: Array) -> Array:
    psi = _directions(phi)
    expected = np.einsum("sati,sat->sai", psi, phi @ centre)
    return np.asarray(psi - expected[:, :, None])


@dataclass(frozen=True, eq=False)
class TargetsRelease:
    """Summed z (L, d) of `users` people. noise: its variance in every cell. radius: no sum of a layer is off by more than this in
    its norm, all at once, but for the probability `failure`."""

    question: TargetsQuestion
    users: int
    sums: Array
    radius: float
    failure: float
    guarantee: Guarantee
    noise: Noise = NO_NOISE

    def to_bytes(self) -> bytes:
        """Versioned bytes: cells, whom they are about, and their error; the question and the guarantee are the design's."""
        numbers = self.sums.astype("<f8").tobytes()
        errors = [self.radius, [float(number) for number in self.noise]]
        return bytes(msgpack.packb([RELEASE_FORMAT, self.question.digest, self.users, self.failure, *errors, numbers]))


class TargetsKind(Kind[TargetsQuestion, TargetsRelease]):
    """Sums of feature targets. Radius: of the norm of a layer's sum."""

    name = KIND
    answered = by_trust(
        local=("gaussian", "privunit"), shuffle=("skellam",), joint=("buffered-toeplitz",), none=("none",)
    )
    unknown_in_pages = ("local", "shuffle", "joint")

    def read(self, data: bytes) -> TargetsQuestion:
        """The question that wrote these bytes."""
        return TargetsQuestion.from_bytes(data)

    def designers(self) -> Mapping[str, DesignMaker]:
        """PrivUnit, Gaussian noise or shares of noise on devices; a counter at a curator; or exact sums."""
        return {LOCAL: design_local, SHUFFLE: design_shuffle, JOINT: design_joint, NONE: design_open}

    def estimate(self, question: TargetsQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """The noise has mean zero, so the sum is its own estimate."""
        return np.asarray(summed[0], dtype=np.float64)

    def radii(self, question: TargetsQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        """Error radii of noise of one standard deviation a cell; layers share the failure."""
        from ...privacy.quantiles import chi_square_radius

        size, share = question.features.dimension, failure / question.layers
        long = law.lengths(share, size)
        if long is not None:
            return np.asarray(long)[..., None]
        std = np.sqrt(law.variance())
        radius = std * math.sqrt(chi_square_radius(size, share)) + law.rounding * math.sqrt(size)
        return np.asarray(radius)[..., None]

    def noise(self, question: TargetsQuestion, law: Law) -> Array:
        """The same variance in every cell."""
        return stacked(law.own, law.variance(), law.variance(), 1.0, 0.0)

    def backup_variance(self, question: TargetsQuestion, mechanism: Randomizer) -> float:
        """That of a cell, where a person's vector has length 1."""
        return float(mechanism.variance() / question.bound**2)

    def signal(self, question: TargetsQuestion) -> tuple[int, float]:
        """The norm of a sum, to which a person who agrees with others adds half of C, spread over layers."""
        return 0, question.bound / 2 / math.sqrt(question.layers)

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> TargetsRelease:
        """Sums with their errors."""
        question = self.question_of(design)
        sums = cells.reshape(question.layers, question.features.dimension)
        failure = design.release_failure
        return TargetsRelease(question, users, sums, float(radii[0]), failure, design.guarantee, noise)

    def read_release(self, data: bytes, design: Design) -> TargetsRelease:
        """Read what `to_bytes` wrote of a release by this design; refuse anything else."""
        question = self.question_of(design)
        try:
            name, digest, users, failure, radius, noise, raw = msgpack.unpackb(data, max_array_len=16, max_str_len=64)
            if (name, digest) != (RELEASE_FORMAT, question.digest):
                raise ValueError("it is of another format, or about another statistic")
            numbers = np.frombuffer(raw, dtype="<f8").astype(np.float64)
            sums = validation.array("cells", numbers, (question.cells,)).reshape(question.layers, -1)
            people, chance = validation.integer("users", users, 0), validation.between("failure", failure, 0.0, 1.0)
            far = validation.between("radius", radius, 0.0, 1e300)
            errors = Noise(*(validation.number("noise", value) for value in noise))
            return TargetsRelease(question, people, sums, far, chance, design.guarantee, errors)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "release-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error

    def packed(self, release: TargetsRelease) -> Array:
        """(cells,) the cells that a release was made from."""
        return release.sums.reshape(-1)


TARGETS = register(TargetsKind())


def first_batch(promise: Guarantee) -> tuple[int, float]:
    """How many people the first batch has, and which share of all before them later ones."""
    return (FIRST_SHUFFLED if promise.trust == SHUFFLE else FIRST), WIDENING
