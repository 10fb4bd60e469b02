"""Counts of an episode: visits, rewards and transitions, by state and action; their price is proved in `sensitivity`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgpack
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import FormatError, InvalidInput
from ...mdp import Spec
from ...privacy import Sensitivity
from ..releases.release import CountRelease, Counts, Noise, Radius
from .kind import Array, Integers, Kind, Possible, by_trust, register
from .question import DIGEST_BYTES, AboutEpisodes, Pooled, Range, derived, only

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..design import Design
    from ..laws import Law
    from .question import Member, Question

KIND = "counts"

VISITS = "visits"
REWARDS = "rewards"
SQUARES = "squares"
CENTRED = "centred"
HALVES = "halves"
TRANSITIONS = "transitions"
PARTS = (VISITS, REWARDS, SQUARES, CENTRED, HALVES, TRANSITIONS)
MIDDLE = 0.5
"""Where rewards are centred unless another public level is named: nowhere is the price of centred rewards less."""

FREE_VISITS = (CENTRED, HALVES, TRANSITIONS)
"""Half the visits cost nothing beside centred rewards: see `sensitivity.py`."""

SINGLE_STEP = (CENTRED, HALVES)
"""What is counted of a single step, which nothing follows: see `bandit.py`."""

LEVELS = 16
"""Of a data set rewards are rounded to multiples of 1/16: variance at most 1/1024 a step, and every count a multiple of 1/32."""

COUNTED = "counted"
DROPPED = "dropped"
END = "end"

# Largest sizes accepted from outside: a report must stay a message, not a denial of service.
MOST_CELLS = 1 << 28
MOST_STEPS = 1 << 20
FORMAT = "confide.question/1"

HALF_CELLS = 4.0
"""How many cells have together the variance of twice a half visit."""


@dataclass(frozen=True)
class CountQuestion(AboutEpisodes, Pooled):
    """A question about counts of an episode: which parts of them.

    parts: a selection, in this order, of `visits` N(s,a), `rewards` the sum of rewards in (s,a), `squares` the sum of
    their squares, `centred` the sum of rewards minus c N, `halves` N/2, and `transitions` N(s,a,s').
    last: what becomes of the last step's transition: `counted` (the state after it is known), `dropped`, or counted
    towards an extra next state `end`.
    levels: rewards are rounded at random, without bias, to multiples of 1/levels, so every count is a whole number of
    units of 1/resolution and noise can be drawn on the same grid.
    objective: sums of `reward`, or of `cost` = 1 - reward. centre: c, a public level, a multiple of 1/(2 levels).
    Each part has a leading axis of spec.layers.
    expected: (L, S, A) the visits that the learner expects of one person, where that is known; no part of what is counted.
    """

    spec: Spec
    parts: tuple[str, ...] = (VISITS, REWARDS, TRANSITIONS)
    last: str = COUNTED
    levels: int = 1
    objective: str = "reward"
    centre: float = MIDDLE
    expected: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for part in self.parts:
            validation.choice("part", part, PARTS)
        if not self.parts or list(self.parts) != [part for part in PARTS if part in self.parts]:
            raise InvalidInput("parts-order", f"parts must be a selection of {PARTS} in this order. Got {self.parts}.")
        whole = self.parts == FREE_VISITS and self.last != DROPPED
        alone = self.parts == SINGLE_STEP and self.spec.horizon == 1
        if HALVES in self.parts and not whole and not alone:
            raise InvalidInput(
                "half-visits-parts",
                "Half visits stand between centred rewards and transitions, all of them counted, or beside centred rewards of a "
                "single step. Ask for visits instead.",
            )
        validation.choice("last", self.last, (COUNTED, DROPPED, END))
        validation.choice("objective", self.objective, ("reward", "cost"))
        object.__setattr__(self, "levels", validation.integer("levels", self.levels, 1, 1 << 12))
        units = 2 * self.levels * validation.between("reward centre", self.centre, 0.0, 1.0)
        if abs(units - round(units)) > 1e-9:
            raise validation.refusal(
                "reward-centre-off-grid", "reward centre", f"a multiple of 1/{2 * self.levels}", self.centre
            )
        object.__setattr__(self, "centre", round(units) / (2 * self.levels))
        validation.integer("horizon", self.spec.horizon, 1, MOST_STEPS, "Cut episodes.")
        validation.integer("cells", self.cells, 1, MOST_CELLS, "Use a coarser problem.")

    @property
    def resolution(self) -> int:
        """How many units make up one count."""
        halves = 2 if CENTRED in self.parts else 1
        if SQUARES in self.parts:
            return halves * self.levels**2
        return halves * self.levels if CENTRED in self.parts or REWARDS in self.parts else 1

    @property
    def centre_units(self) -> int:
        """The level at which rewards are centred, in units of 1/(2 levels): noise and rewards stay on one grid."""
        return round(2 * self.levels * self.centre)

    @property
    def followed(self) -> int:
        """How many next states a release has room for: none after a single step whose transition is not asked for."""
        return 0 if self.spec.horizon == 1 and TRANSITIONS not in self.parts else self.spec.states

    @property
    def reward_centre(self) -> float:
        """c, at which rewards are centred: 0 where they are asked for as they are."""
        return self.centre if CENTRED in self.parts else 0.0

    @property
    def visits_apart(self) -> float | None:
        """By what the noise of visits that are read apart from transitions exceeds that of a cell; None where they are sums."""
        if VISITS in self.parts:
            return 1.0
        return math.sqrt(cells_of_visits(self)) if self.spec.horizon == 1 else None

    @property
    def next_states(self) -> int:
        """How many next states are distinguished: one place where a single step, which nothing follows, is reported."""
        return 1 if self.parts == SINGLE_STEP else self.spec.states + (self.last == END)

    @property
    def transition_steps(self) -> int:
        """How many steps of a full episode have their transition counted."""
        return self.spec.horizon - (self.last == DROPPED)

    def shape(self, part: str) -> tuple[int, ...]:
        """The shape of one part."""
        return self._shapes[part == TRANSITIONS]

    @cached_property
    def _shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape of all parts but transitions, and the shape of those."""
        layers, states, actions = self.spec.layers, self.spec.states, self.spec.actions
        moved = min(layers, self.transition_steps) if layers > 1 else layers
        return (layers, states, actions), (moved, states, actions, self.next_states)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each part lies in the flat vector of cells."""
        slices, start = {}, 0
        for part in self.parts:
            size = math.prod(self.shape(part))
            slices[part] = slice(start, start + size)
            start += size
        return slices

    @cached_property
    def cells(self) -> int:
        """The length of the flat vector."""
        return sum(math.prod(self.shape(part)) for part in self.parts)

    @property
    def before_transitions(self) -> int | None:
        """How many cells of visits, rewards and perhaps squares come before transitions; None if anything else is counted, or
        transitions are not.

        Their shifts are the first two of the price, or the first three of four.
        """
        three, four = (VISITS, REWARDS, TRANSITIONS), (VISITS, REWARDS, SQUARES, TRANSITIONS)
        listed = self.parts == three or (self.parts == four and len(self.price().shifts) == len(four))
        return self.slices[TRANSITIONS].start if listed else None

    @property
    def kind(self) -> str:
        """`counts`."""
        return KIND

    @property
    def counts(self) -> CountQuestion:
        """The counts that a learner gets: these."""
        return self

    @property
    def counted(self) -> CountQuestion:
        """These."""
        return self

    @property
    def budget(self) -> int:
        """0: all visits are counted."""
        return 0

    @property
    def episodes(self) -> int:
        """1: every episode is counted by itself."""
        return 1

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """(cells,) how many zero-or-one observations of one person each cell is the sum of."""
        pooled = self.spec.layers == 1
        result = np.empty(self.cells, dtype=np.int64)
        for part, where in self.slices.items():
            steps = self.transition_steps if part == TRANSITIONS else self.spec.horizon
            result[where] = steps if pooled else 1
        return result

    @cached_property
    def range(self) -> Range:
        """Counts lie between 0 and their number of trials, halves below half of it, rewards centred at c between -c and 1 - c
        times that."""
        high = self.trials.astype(np.float64)
        low = np.zeros(self.cells)
        if CENTRED in self.slices:
            part = self.slices[CENTRED]
            low[part] = -self.centre * high[part]
            high[part] *= 1 - self.centre
        if HALVES in self.slices:
            high[self.slices[HALVES]] /= 2
        return Range(low, high)

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity, by `sensitivity.py`: counts are multiples of 1/resolution, so a grid rounds nothing."""
        from .sensitivity import sensitivity

        return sensitivity(self)

    def member(self, question: Member) -> CountQuestion:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self, question: Member) -> CountQuestion:
        """The question itself: from its answer any counts about the same problem are derived."""
        return derived(self, question)

    def having(self, **changes: Any) -> CountQuestion:
        """The same question with some fields changed."""
        return replace(self, **changes)

    def tight(self, levels: int | None = None) -> CountQuestion:
        """The form that takes least noise, and from which everything else can be derived: centred rewards and transitions.

        It is what a device answers in `tight` calibration. `end` stays: the state after the last step may be unknown. Who asks for
        transitions alone knows the rewards.
        """
        reward_levels = self.levels if levels is None else levels
        parts = self.parts if self.parts == (TRANSITIONS,) else (CENTRED, TRANSITIONS)
        return self.having(parts=parts, last=END if self.last == END else COUNTED, levels=reward_levels)

    def to_bytes(self) -> bytes:
        """Versioned bytes; equal questions have equal bytes."""
        spec = [self.spec.states, self.spec.actions, self.spec.horizon, self.spec.dynamics]
        moved = [] if self.centre == MIDDLE else [self.centre_units]  # which the first questions could not be
        body: bytes = msgpack.packb([FORMAT, spec, list(self.parts), self.last, self.levels, self.objective, *moved])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> CountQuestion:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            form, spec, parts, last, levels, objective, *moved = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if form != FORMAT or len(moved) > 1:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            question = cls(Spec(*spec), tuple(parts), last, levels, objective)
            if not moved:
                return question
            units = validation.integer("reward centre", moved[0], 0, 2 * question.levels)
            if units == question.levels:
                raise ValueError("it names the middle of the rewards as their centre, which goes without saying")
            return question.having(centre=units / (2 * question.levels))
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "question-unreadable", f"These bytes are not a statistic this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A short fingerprint that a report carries, so that it cannot be counted towards another question."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


def nearest_centre(level: float, levels: int) -> float:
    """The multiple of 1/(2 levels) in [0, 1] that is nearest to a level of rewards: where they can be centred."""
    return round(2 * levels * validation.between("reward centre", level, 0.0, 1.0)) / (2 * levels)


C = TypeVar("C", bound="Question")


class CountedKind(Kind[C, CountRelease]):
    """A kind that is released as counts, however messages encode them."""

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
        """Counts with their errors."""
        return count_release(design, cells, users, radii, noise)

    def read_release(self, data: bytes, design: Design) -> CountRelease:
        """A release of counts, which knows its question."""
        from ..releases.release_bytes import from_bytes

        return from_bytes(data)

    def packed(self, release: CountRelease) -> Array:
        """(cells,) the cells that a release of counts was unpacked from."""
        return count_cells(release)


class CountKind(CountedKind[CountQuestion]):
    """Counts of whole episodes. Radii are in the order of `releases.Radius`: visits, rewards, squares, transitions, rows."""

    name = KIND
    of_whole_episodes = True
    answered = by_trust(
        local=("laplace", "gaussian", "randomised-response", "bounded"),
        joint=("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz"),
        central=("laplace", "gaussian"),
        none=("none",),
    )

    def read(self, data: bytes) -> CountQuestion:
        """The question that wrote these bytes."""
        return CountQuestion.from_bytes(data)

    def counts(self, question: CountQuestion) -> CountQuestion:
        """The question itself."""
        return question

    def estimate(self, question: CountQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        """Unbiased cells, as the mechanism estimates them."""
        return mechanism.estimate(summed[0], int(people[0]), question.trials)

    def radii(self, question: CountQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
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


COUNTS = register(CountKind())


def count_release(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
    """The release of cells of counts, however messages encoded them."""
    question, radius = design.counts, Radius(*radii.tolist())
    return CountRelease(
        question, users, unpack(question, cells), radius, design.release_failure, design.guarantee, noise
    )


def count_cells(release: CountRelease) -> Array:
    """(cells,) the cells that a release of counts was unpacked from."""
    counts, weight = release.counts, weight_of_halves(release.question)
    values = {
        VISITS: counts.visits,
        REWARDS: counts.rewards,
        SQUARES: counts.squares,
        CENTRED: release.centred,
        HALVES: (counts.visits - (1 - weight) * counts.transitions.sum(axis=-1)) / (2 * weight),
        TRANSITIONS: counts.transitions,
    }
    return np.concatenate([values[part].ravel() for part in release.question.parts])


def unpack(question: CountQuestion, cells: Array) -> Counts:
    """From the flat vector of a question's cells, in counts, to the arrays a learner works with.

    What was not asked for is derived: visits are rows of transitions, averaged with twice the half visits where those are reported;
    rewards are centred rewards plus c times the visits; and squares are rewards (exactly so for rewards of 0 and 1, which rounding
    to one level makes them).
    """
    layers, states, actions = question.spec.layers, question.spec.states, question.spec.actions
    parts = {part: cells[where].reshape(question.shape(part)) for part, where in question.slices.items()}
    transitions = np.zeros((layers, states, actions, question.followed))
    rows = np.zeros((layers, states, actions))
    if TRANSITIONS in parts:
        moves = parts[TRANSITIONS]
        transitions[: len(moves)] = moves[..., :states]
        rows[: len(moves)] = moves.sum(axis=-1)
    if HALVES in parts:
        weight = weight_of_halves(question)
        rows = (1 - weight) * rows + weight * 2 * parts[HALVES]
    visits = parts.get(VISITS, rows)
    rewards = parts.get(
        REWARDS, parts[CENTRED] + question.centre * visits if CENTRED in parts else np.zeros_like(visits)
    )
    squares = parts.get(SQUARES, rewards)
    return Counts(
        np.ascontiguousarray(visits), np.ascontiguousarray(rewards), np.ascontiguousarray(squares), transitions
    )


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


def stacked(*columns: ArrayLike) -> Array:
    """Columns of numbers or arrays side by side, along a last axis."""
    return np.stack(np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in columns)), axis=-1)
