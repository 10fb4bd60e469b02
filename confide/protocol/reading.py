"""How sums of messages are read, for each kind of question: unbiased cells, their error radii, and their noise.

Post-processing of public numbers, the same on both sides of the wall.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..loading import sibling
from ..mdp import Spec
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.symmetric import SymmetricGaussian
from ..privacy.quantiles import chi_square_radius
from .kinds import bits, budgeted, counts, mixture, steps
from .kinds.bits import BitQuestion
from .kinds.counts import CENTRED, HALVES, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from .kinds.mixture import MixtureForm
from .kinds.steps import StepQuestion
from .laws import Array, Law


class Noise(NamedTuple):
    """The noise of a release, for learners that are Bayesian about it.

    own: 1 if everybody's noise is their own, 2 if batches that widen need less and less of it, 0 if it is one curator's.
    transitions, centred: variance of a cell of transitions, and of centred rewards. luck: by how much the luck of the people
    who were heard exceeds that of all. visits: variance of a pair's visits.
    """

    own: float
    transitions: float
    centred: float
    luck: float
    visits: float


NO_NOISE = Noise(0.0, 0.0, 0.0, 1.0, 0.0)
"""Exact counts: no noise was added."""


HALF_CELLS = 4.0
"""How many cells have together the variance of twice a half visit."""


class Reading(Protocol):
    """How the messages of one kind of question are read."""

    def estimate(self, question: Any, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]) -> Array:
        """Unbiased cells from sums (rows, width) of the messages of so many people (rows,)."""
        ...

    def radii(self, question: Any, law: Law, failure: float, possible: NDArray[np.bool_] | None = None) -> Array:
        """(..., n) error radii that are all true with probability 1 - failure. possible: cells that can be filled."""
        ...

    def noise(self, question: Any, law: Law) -> Array:
        """(..., 5) variances and the like, in the order of `Noise`."""
        ...

    def backup_variance(self, question: Any, mechanism: Randomizer) -> float:
        """The variance that one person's noise adds to one backed-up value: what `auto` compares."""
        ...

    def signal(self, question: Any) -> tuple[int, float]:
        """Which radius the average statistic must exceed for anything to be learned, and what a person adds to it."""
        ...


class CountReading:
    """Counts of whole episodes. Radii are in the order of `releases.Radius`: visits, rewards, squares, transitions, rows."""

    def estimate(
        self, question: CountQuestion, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]
    ) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return mechanism.estimate(summed[0], int(people[0]), question.trials)

    def radii(
        self, question: CountQuestion, law: Law, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
        """Error radii that hold for all cells, all rows and all sums derived from them at once."""
        pairs = question.spec.layers * question.spec.states * question.spec.actions
        width, transition_cells = question.next_states, pairs * question.spec.states
        if possible is not None:
            transition_cells, width = int(possible.sum()), reach(question, possible)
        share = failure / (transition_cells + 4 * pairs)
        return derived_radii(question, lambda heads, cells: law.radius(share, heads, cells), width)

    def noise(self, question: CountQuestion, law: Law) -> Array:
        """The noise of counts. Where rewards are not centred, centring them by half the visits adds the noise of those."""
        pooled = question.spec.layers == 1
        moves = law.variance(question.transition_steps if pooled else 1)
        each = law.variance(question.spec.horizon if pooled else 1)
        visits = each if VISITS in question.parts else moves * cells_of_visits(question)
        centred = each if CENTRED in question.parts else each + question.centre**2 * visits
        return stacked(law.own, moves, centred, 1.0, visits)

    def backup_variance(self, question: CountQuestion, mechanism: Randomizer) -> float:
        """A reward estimate enters once; each of S next states enters with a value of up to H, on average half of that."""
        variances = derived_radii(
            question, lambda heads, cells: np.asarray(mechanism.variance(heads) * cells), question.next_states
        )
        return float(variances[1] + backup_weight(question) * variances[3])

    def signal(self, question: CountQuestion) -> tuple[int, float]:
        """Transitions; a person visits the average pair H/(S A) times, or 1/(S A) times a step."""
        return 3, average_visits(question.spec)


class BitReading:
    """Counts of whole episodes, encoded in bits: a reward by m of them."""

    def estimate(self, question: BitQuestion, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]) -> Array:
        """Unbiased bits, over how many make up a count."""
        return np.asarray(mechanism.estimate(summed[0], int(people[0]), question.trials) / question.weights)

    def radii(
        self, question: BitQuestion, law: Law, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
        """Rewards of m bits have m times as many flips, each of which moves them an m-th as far."""
        count_question, spec = question.counts, question.spec
        radii = CountReading().radii(count_question, law, failure, possible)
        if count_question.levels > 1 and REWARDS in count_question.parts:
            share = failure / (spec.layers * spec.states * spec.actions * (spec.states + 4))
            pooled = spec.horizon if spec.layers == 1 else 1
            radii[..., 1] = radii[..., 2] = (
                law.radius(share, count_question.levels * pooled, 1.0) / count_question.levels
            )
        return radii

    def noise(self, question: BitQuestion, law: Law) -> Array:
        """The noise of counts; rewards of m bits have an m-th of the variance."""
        noise = CountReading().noise(question.counts, law)
        if question.counts.levels > 1:
            each = law.variance(question.spec.horizon if question.spec.layers == 1 else 1)
            noise[..., 2] -= each * (1 - 1 / question.counts.levels)
        return noise

    def backup_variance(self, question: BitQuestion, mechanism: Randomizer) -> float:
        """The variance for counts."""
        return CountReading().backup_variance(question.counts, mechanism)

    def signal(self, question: BitQuestion) -> tuple[int, float]:
        """Transitions; a person visits the average pair H/(S A) times, or 1/(S A) times a step."""
        return 3, average_visits(question.spec)


class BudgetedReading:
    """Counts under a budget: as many cells, and as noisy, as without one."""

    def estimate(self, question: Any, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return CountReading().estimate(question.counts, mechanism, summed, people)

    def radii(self, question: Any, law: Law, failure: float, possible: NDArray[np.bool_] | None = None) -> Array:
        """The error radii of counts."""
        return CountReading().radii(question.counts, law, failure, possible)

    def noise(self, question: Any, law: Law) -> Array:
        """The noise of counts."""
        return CountReading().noise(question.counts, law)

    def backup_variance(self, question: Any, mechanism: Randomizer) -> float:
        """The variance for counts, over the squared share of visits that is counted where an episode visits all pairs alike."""
        spec = question.spec
        pairs = min(spec.horizon, spec.states * spec.actions)
        counted = min(spec.horizon, math.sqrt(question.budget * pairs)) / spec.horizon
        return float(CountReading().backup_variance(question.counts, mechanism) / counted**2)

    def signal(self, question: Any) -> tuple[int, float]:
        """Transitions; a person adds at most what the budget lets through to the average pair."""
        spec = question.spec
        pairs = min(spec.horizon, spec.states * spec.actions)
        return 3, min(spec.horizon, math.sqrt(question.budget * pairs)) / (spec.states * spec.actions)


class StepReading:
    """One sampled step of each person. Pooled, estimates are scaled by H; per step, by n over those who reported the step."""

    def estimate(
        self, question: StepQuestion, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]
    ) -> Array:
        """Cells of the counts, over everybody."""
        count_question, spec, everyone = question.counts, question.spec, float(people.sum())
        scale = np.full(1, float(spec.horizon)) if spec.layers == 1 else everyone / np.maximum(people, 1)
        categories = mechanism.estimate(summed, people[:, None], question.trials) * scale[:, None]  # type: ignore[arg-type]
        return cells_from_categories(count_question, categories[:, :-1])

    def radii(
        self, question: StepQuestion, law: Any, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
        """Error radii. Per step n/H people report a step on average, and with probability share/2 fewer than `fewest`.

        (Chernoff's bound.) What they tell is scaled up by n over how many they are.
        """
        spec, width = question.spec, question.counts.next_states
        share = failure / (spec.layers * spec.states * spec.actions * (spec.states + 4))
        people = np.asarray(law.people, dtype=np.float64)
        fewest, weight, part = people, np.asarray(float(spec.horizon)), share
        if spec.layers > 1:
            mean, part = people / spec.horizon, share / 2
            fewest = np.maximum(mean - np.sqrt(2 * mean * np.log(2 / share)), 1.0)
            weight = people / fewest

        def of(size: int) -> Array:
            return np.where(people > 0, weight * law.mechanism.radius(fewest, part, 1.0, size), 0.0)

        return np.stack([of(2 * width), of(width), of(width), of(2), of(2 * width)], axis=-1)

    def noise(self, question: StepQuestion, law: Any) -> Array:
        """A transition is two categories, a centred reward half the difference of two sets of S' categories."""
        mechanism, factor = law.mechanism, _sampling_factor(question)
        p, q = mechanism.hit, mechanism.miss
        category_variance = factor * np.asarray(law.people, dtype=np.float64) * q * (1 - q) / (p - q) ** 2
        luck = question.spec.horizon * (1 + (p * (1 - p) - q * (1 - q)) / (p - q) ** 2)
        width = question.counts.next_states
        return stacked(
            law.own, 2 * category_variance, width * category_variance / 2, luck, 2 * width * category_variance
        )

    def backup_variance(self, question: StepQuestion, mechanism: Any) -> float:
        """The variance of the noise, and that of sampling one step in H."""
        width, count_question = question.counts.next_states, question.counts
        share = 1 / (question.spec.states * question.spec.actions)

        def spread(size: int, part: float) -> float:
            return _sampling_factor(question) * float(mechanism.set_variance(size, part) + part * (1 - part))

        return spread(width, share / 2) + backup_weight(count_question) * spread(2, share / width)

    def signal(self, question: StepQuestion) -> tuple[int, float]:
        """Transitions; a person visits the average pair H/(S A) times, or 1/(S A) times a step."""
        return 3, average_visits(question.spec)


class MixtureReading:
    """Gram sums of linear mixtures. Radii are in the order of `releases.MixtureRadius`: gram, vector."""

    def estimate(self, question: MixtureForm, mechanism: Randomizer, summed: Array, people: NDArray[np.int64]) -> Array:
        """The noise has mean zero, so the sum is its own estimate."""
        return np.asarray(summed[0], dtype=np.float64)

    def radii(
        self, question: MixtureForm, law: Law, failure: float, possible: NDArray[np.bool_] | None = None
    ) -> Array:
        """Error radii: what noise of one standard deviation a cell does at most; matrices and vectors share the failure.

        The spectral radius is that of noise with twice the variance on the diagonal. With one variance everywhere it is
        smaller: what is missing has mean zero, and the largest eigenvalue is convex.
        """
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
        return mechanism.variance() / (16 if question.scaling == mixture.CENTRED else 1)

    def signal(self, question: MixtureForm) -> tuple[int, float]:
        """The average eigenvalue of a Gram matrix, to which a person adds (steps a layer) |X|^2/d."""
        square, _ = question.features.norms(*question.reference(0))
        return 0, question.steps / question.layers * square / question.features.dimension


_READINGS: dict[str, Reading] = {
    counts.KIND: CountReading(),
    bits.KIND: BitReading(),
    budgeted.KIND: BudgetedReading(),
    steps.KIND: StepReading(),
    mixture.KIND: MixtureReading(),
}


_HOMES = {"asked": "kinds.asked_reading", "bandit": "kinds.bandit_reading"}
"""The module of further readings of ours, by kind of question; loaded when they are needed."""


def reading(kind: str) -> Reading:
    """How messages about that kind of question are read."""
    if kind in _HOMES:
        sibling(str(__package__), _HOMES[kind])
    if kind not in _READINGS:
        raise InvalidInput(
            "kind-without-reading",
            f"No messages about {kind!r} can be read. Enter its reading with designs.reading.register.",
        )
    return _READINGS[kind]


def register(kind: str, how: Reading) -> None:
    """Enter the reading of a kind of question in the table."""
    _READINGS[kind] = how


def cells_from_categories(question: CountQuestion, categories: Array) -> Array:
    """Cells of counts from how many people reported each category (s, a, s', reward bit)."""
    spec = question.spec
    table = categories.reshape(spec.layers, spec.states, spec.actions, question.next_states, 2)
    moved = table.sum(axis=-1)
    visits, rewards = moved.sum(axis=-1), table[..., 1].sum(axis=-1)
    values = {
        VISITS: visits,
        REWARDS: rewards,
        SQUARES: rewards,
        CENTRED: rewards - question.centre * visits,
        TRANSITIONS: moved,
    }
    layers = {part: question.shape(part)[0] for part in question.parts}
    return np.concatenate([values[part][: layers[part]].ravel() for part in question.parts])


def derived_radii(question: CountQuestion, radius_of: Callable[[float, float], Array], width: int) -> Array:
    """(..., 5) radii from `of(trials, cells)`, the radius of a sum over that many cells; rows have `width` next states.

    What is derived has the noise of what it is derived from: visits that of a row of transitions; rewards that of
    centred rewards plus c times that of visits, which counts as c^2 times as many cells.
    """
    pooled = question.spec.layers == 1
    steps = float(question.spec.horizon if pooled else 1)
    moves = float(question.transition_steps if pooled else 1)
    parts = question.parts
    known = float(TRANSITIONS in parts)
    transitions, rows = radius_of(moves, known), radius_of(moves, known * width)
    cells = cells_of_visits(question, width)
    if HALVES in parts:  # weights of 4S/(4 + S) and 2S/(4 + S) cells: that is how they are rounded
        cells *= 1.5
    visits = radius_of(steps, 1.0) if VISITS in parts else radius_of(moves, known * cells)
    behind = 1 + question.centre**2 * (1.0 if VISITS in parts else cells)
    rewards = radius_of(steps, 1.0 if REWARDS in parts else behind if CENTRED in parts else 0.0)
    squares = radius_of(steps, 1.0) if SQUARES in parts else rewards
    return np.stack([visits, rewards, squares, transitions, rows], axis=-1)


def cells_of_visits(question: CountQuestion, width: int | None = None) -> float:
    """How many cells have together the variance of visits that are derived: a row of transitions, or less with half visits.

    Twice a half visit has the variance of 4 cells, a row that of S. Weights S/(4 + S) and 4/(4 + S) leave the least: 4S/(4 + S).
    """
    cells = float(question.next_states if width is None else width)
    if HALVES not in question.parts:
        return cells
    weight = weight_of_halves(question)
    return (1 - weight) ** 2 * cells + HALF_CELLS * weight**2


def visits_apart(question: CountQuestion) -> float | None:
    """By what the noise of visits that are read apart from transitions exceeds that of a cell; None where they are their sums."""
    if VISITS in question.parts:
        return 1.0
    return math.sqrt(cells_of_visits(question)) if question.spec.horizon == 1 else None


def weight_of_halves(question: CountQuestion) -> float:
    """The weight of twice the half visits in the visits that are derived; the rest is that of the row of transitions, if it is
    asked for."""
    return question.next_states / (HALF_CELLS + question.next_states) if TRANSITIONS in question.parts else 1.0


def reach(question: CountQuestion, possible: NDArray[np.bool_]) -> int:
    """The most next states that any pair has, of those that are possible."""
    where = question.slices.get(TRANSITIONS)
    if where is None:
        return 1
    return int(possible[where].reshape(question.shape(TRANSITIONS)).sum(axis=-1).max(initial=1))


def backup_weight(question: CountQuestion) -> float:
    """The weight of a transition's variance in a backed-up value: S next states, squared values of on average (H/2)^2."""
    return question.spec.states * (question.spec.horizon / 2) ** 2


def average_visits(spec: Spec) -> float:
    """How often a person visits the average pair, in a stationary model or at a step."""
    return (spec.horizon if spec.layers == 1 else 1) / (spec.states * spec.actions)


def _sampling_factor(question: StepQuestion) -> float:
    """The factor by which sampling one step in H raises the variance, a person: H^2 pooled, H per step."""
    horizon = question.spec.horizon
    return float(horizon**2 if question.spec.layers == 1 else horizon)


def stacked(*columns: ArrayLike) -> Array:
    """Columns of numbers or arrays side by side, along a last axis."""
    return np.stack(np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in columns)), axis=-1)
