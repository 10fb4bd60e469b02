"""From summed reports to a release: unbiased counts and their error radius. Post-processing, run by any server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..mechanisms.randomizer import Randomizer, bernstein_radius
from ..mechanisms.unary import SampledStep
from ..privacy import Guarantee
from .question import CENTRED, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from .release import CountRelease, Radius, unpack
from .report import ReportSum

Array: TypeAlias = NDArray[np.float64]
LocalMechanism: TypeAlias = Randomizer | SampledStep


def trials(question: CountQuestion) -> NDArray[np.int64]:
    """(cells,) how many zero-or-one observations of one person each cell is the sum of."""
    pooled = question.spec.layers == 1
    result = np.empty(question.cells, dtype=np.int64)
    for part, where in question.slices.items():
        steps = question.transition_steps if part == TRANSITIONS else question.spec.horizon
        result[where] = steps if pooled else 1
    return result


def categories(question: CountQuestion) -> int:
    """How many categories one sampled step has: (s, a, s', reward bit), and one for a step that was not taken."""
    return 2 * question.spec.states * question.spec.actions * question.next_states + 1


def sum_shape(question: CountQuestion, mechanism: LocalMechanism) -> tuple[int, ...]:
    """The shape of summed messages: (cells,), or (layers, categories) for sampled steps."""
    if isinstance(mechanism, SampledStep):
        return question.spec.layers, mechanism.categories
    return (question.cells,)


def estimated_cells(
    question: CountQuestion, mechanism: LocalMechanism, summed: Array, users: NDArray[np.int64]
) -> Array:
    """Unbiased cells of the question, in counts, over everybody; `users` as in ReportSum."""
    if not isinstance(mechanism, SampledStep):
        return mechanism.estimate(summed, int(users.sum()), trials(question))
    spec, everyone = question.spec, float(users.sum())
    # Each person tells of one step in H. Pooled: H times what was heard; per step: scaled up by who was heard.
    scale = np.full(1, float(spec.horizon)) if spec.layers == 1 else everyone / np.maximum(users, 1)
    heard = mechanism.estimate(summed, users[:, None]) * scale[:, None]
    found = heard[:, :-1].reshape(spec.layers, spec.states, spec.actions, question.next_states, 2)
    moved = found.sum(axis=-1)
    visits, rewards = moved.sum(axis=-1), found[..., 1].sum(axis=-1)
    values = {VISITS: visits, REWARDS: rewards, SQUARES: rewards, CENTRED: rewards - visits / 2, TRANSITIONS: moved}
    layers = {part: question.shape(part)[0] for part in question.parts}
    return np.concatenate([values[part][: layers[part]].ravel() for part in question.parts])


def radii(question: CountQuestion, mechanism: LocalMechanism, users: ArrayLike, failure: float) -> Array:
    """(..., 5) error radii, in the order of `Radius`, after `users` reports; all true with probability 1 - failure."""
    share = failure / statements(question)
    people = np.asarray(users, dtype=np.float64)
    if not isinstance(mechanism, SampledStep):
        return derived_radii(question, lambda heads, cells: mechanism.radius(people, share, heads, cells))

    # Pooled, everybody is heard, with weight H. Per step, n/H people tell of a step on average, and with probability
    # share/2 fewer than `fewest` (Chernoff's bound); what they tell is scaled up by n over how many they are.
    horizon, fewest, part = question.spec.horizon, people, share
    if question.spec.layers > 1:
        mean, part = people / horizon, share / 2
        fewest = np.maximum(mean - np.sqrt(2 * mean * np.log(2 / share)), 1.0)
    weight = horizon if question.spec.layers == 1 else people / fewest

    def of(size: int) -> Array:
        spread = max(mechanism.set_variance(size, 0.0), mechanism.set_variance(size, 1.0)) + 0.25
        told = bernstein_radius(fewest * spread, 1 / (mechanism.hit - mechanism.miss), part)
        return np.where(people > 0, weight * told, 0.0)

    width = question.next_states
    return np.stack([of(2 * width), of(width), of(width), of(2), of(2 * width)], axis=-1)


def derived_radii(question: CountQuestion, of: Callable[[float, float], Array]) -> Array:
    """(..., 5) radii from `of(trials, cells)`, the radius of a sum over that many cells.

    What is derived has the noise of what it is derived from: visits that of a row of transitions; rewards that of
    centred rewards plus half of that of visits, which counts as a quarter of as many cells.
    """
    pooled = question.spec.layers == 1
    steps = float(question.spec.horizon if pooled else 1)
    moves = float(question.transition_steps if pooled else 1)
    width = question.next_states
    asked = question.parts
    known = float(TRANSITIONS in asked)
    transitions, rows = of(moves, known), of(moves, known * width)
    visits = of(steps, 1.0) if VISITS in asked else rows
    behind = 1 + (0.25 if VISITS in asked else 0.25 * width)
    rewards = of(steps, 1.0 if REWARDS in asked else behind if CENTRED in asked else 0.0)
    squares = of(steps, 1.0) if SQUARES in asked else rewards
    return np.stack([visits, rewards, squares, transitions, rows], axis=-1)


def _echo(question: CountQuestion) -> float:
    """By how much telling of one step in H raises the variance a person: H^2 pooled, H per step."""
    horizon = question.spec.horizon
    return float(horizon**2 if question.spec.layers == 1 else horizon)


def statements(question: CountQuestion) -> int:
    """How many errors must be small at once: every cell of every kind, and every row."""
    spec = question.spec
    return spec.layers * spec.states * spec.actions * (spec.states + 4)


def read(
    summed: ReportSum, mechanism: LocalMechanism, guarantee: Guarantee, failure: float, radius: Radius | None = None
) -> CountRelease:
    """A release from summed reports, with our error radius unless another is given."""
    question, users = summed.question, int(summed.users.sum())
    cells = estimated_cells(question, mechanism, np.asarray(summed.cells * summed.grid), summed.users)
    found = radius or Radius(*radii(question, mechanism, users, failure).tolist())
    return CountRelease(question, users, unpack(question, cells), found, failure, guarantee)


def backup_variance(question: CountQuestion, mechanism: LocalMechanism) -> float:
    """What one person's noise adds to one backed-up value, in variance: what `auto` compares.

    A reward estimate enters once; each of S next states enters with a value of up to H, on average half of that.
    """
    weight = question.spec.states * (question.spec.horizon / 2) ** 2
    if not isinstance(mechanism, SampledStep):
        found = derived_radii(question, lambda heads, cells: np.asarray(mechanism.variance(heads) * cells))
        return float(found[1] + weight * found[3])
    width = question.next_states
    share = 1 / (question.spec.states * question.spec.actions)

    def spread(size: int, part: float) -> float:
        return _echo(question) * (mechanism.set_variance(size, part) + part * (1 - part))

    return spread(width, share / 2) + weight * spread(2, share / width)
