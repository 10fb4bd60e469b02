"""Answers to questions: from an episode to one person's numbers, one function for each kind of question.

An answer is (row, cells): which kind of message it is, and its cells as whole multiples of a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...protocol.kinds.counts import END, CountQuestion
from ...protocol.kinds.kind import Answer, DrawIntegers, find
from ..trajectories.observed import ObservedEpisodes
from ..trajectories.trajectory import Trajectory
from .tabular import admit, count, counted_steps, round_rewards, summed_returns

if TYPE_CHECKING:
    from ...protocol.kinds.asked import AskedQuestion
    from ...protocol.kinds.asked_return import AskedReturnQuestion
    from ...protocol.kinds.bandit import BanditQuestion
    from ...protocol.kinds.bits import BitQuestion
    from ...protocol.kinds.budgeted import BudgetedQuestion
    from ...protocol.kinds.mixture import MixtureQuestion
    from ...protocol.kinds.moments import MomentsQuestion
    from ...protocol.kinds.returns import ReturnsQuestion
    from ...protocol.kinds.step import StepQuestion
    from ...protocol.kinds.targets import TargetsQuestion

Answerer = Callable[[Any, Any, float, DrawIntegers], Answer]

FINE = 1 << 53


def levels_of(question: CountQuestion, trajectory: Trajectory, integers: DrawIntegers) -> NDArray[np.int64]:
    """Rewards as multiples of 1/levels, rounded at random."""
    admit(question, trajectory)
    uniforms = integers(FINE, trajectory.steps) / float(FINE)
    return round_rewards(trajectory.rewards, question.levels, uniforms)


def _counts(question: CountQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    cells = count(question, trajectory, levels_of(question, trajectory, integers))
    return 0, cells * round(1 / (question.resolution * grid))


def _bits(question: BitQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    count_question = question.counts
    cells = count(count_question, trajectory, levels_of(count_question, trajectory, integers))
    return 0, cells * question.weights // count_question.resolution * round(1 / grid)


def _budgeted(question: BudgetedQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    count_question = question.counts
    levels = levels_of(count_question, trajectory, integers)
    cells = count(count_question, trajectory, levels, counted_steps(question, trajectory))
    return 0, cells * round(1 / (count_question.resolution * grid))


def _bandit(question: BanditQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    return _counts(question.counts, trajectory, grid, integers)


def _step(question: StepQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    levels = levels_of(question.counts, trajectory, integers)
    step = int(integers(question.spec.horizon, 1)[0])
    cells = np.zeros(question.width, dtype=np.int64)
    cells[category(question.counts, trajectory, levels, step)] = 1
    return (step if question.rows > 1 else 0), cells


def _asked(question: AskedQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    """The answer about a pair that is drawn from the law alone, before the episode is looked at."""
    return _of_pair(question, trajectory, _row(question.law, integers), integers)


def _row(law: NDArray[np.int64], integers: DrawIntegers) -> int:
    """A row, as often as its weight says."""
    ends = np.cumsum(law)
    return int(np.searchsorted(ends, int(integers(int(ends[-1]), 1)[0]), side="right"))


def _of_pair(question: AskedQuestion, trajectory: Trajectory, row: int, integers: DrawIntegers) -> Answer:
    levels = levels_of(question.counts, trajectory, integers)
    cells = np.zeros(question.width, dtype=np.int64)
    cells[first_visit(question, trajectory, levels, row)] = 1
    return row, cells


def _asked_return(question: AskedReturnQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    """The answer about a pair, or the bit of the return: which of them the law alone says, before the episode is looked at."""
    row = _row(question.law, integers)
    if row < question.pairs:
        return _of_pair(question, trajectory, row, integers)
    admit(question.counts, trajectory)
    cells = np.zeros(question.width, dtype=np.int64)
    share = return_of(question.counts, trajectory) / question.spec.horizon
    cells[int(integers(FINE, 1)[0] < share * FINE)] = 1
    return row, cells


def return_of(question: CountQuestion, trajectory: Trajectory) -> float:
    """What an episode paid, or cost, in [0, H]."""
    earned = float(trajectory.rewards.sum())
    value = earned if question.objective == "reward" else trajectory.steps - earned
    return min(max(value, 0.0), float(question.spec.horizon))


def first_visit(question: AskedQuestion, trajectory: Trajectory, levels: NDArray[np.int64], row: int) -> int:
    """The category of the first visit of a pair: (s', reward bit), or the last category if there was none."""
    counts, spec = question.counts, question.spec
    layer, state, action = (int(index) for index in np.unravel_index(row, (spec.layers, spec.states, spec.actions)))
    steps = trajectory.steps
    # Cut off at the horizon, it is unknown where a last step would have led.
    known = steps - (counts.last == END and steps == spec.horizon)
    there = (trajectory.states[:known] == state) & (trajectory.actions[:known] == action)
    if spec.layers > 1:
        there &= np.arange(known) == layer
    if not there.any():
        return 2 * counts.next_states
    visited = category(counts, trajectory, levels, int(there.argmax()))
    return visited % (2 * counts.next_states)


def _returns(question: ReturnsQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    """u, u^2 and 1, where u is the episode's clipped return, rounded at random."""
    return 0, summed_returns(question, trajectory.rewards.sum(keepdims=True), integers(FINE, 1) / float(FINE))


def category(question: CountQuestion, trajectory: Trajectory, levels: NDArray[np.int64], step: int) -> int:
    """The category of one step: (s, a, s', reward bit), or the last category if the step was not taken."""
    spec = question.spec
    shape = (spec.states, spec.actions, question.next_states, 2)
    if step >= trajectory.steps:
        return int(np.prod(shape))
    last = step + 1 == trajectory.steps
    following = (
        spec.states if last and question.last == END else trajectory.states[step + 1] if question.followed else 0
    )
    bit = int(levels[step]) if question.objective == "reward" else 1 - int(levels[step])
    return int(np.ravel_multi_index((trajectory.states[step], trajectory.actions[step], following, bit), shape))


def _mixture(question: MixtureQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    from .mixture import gram_cells

    return 0, gram_cells(question, trajectory, grid)


def _moments(
    question: MomentsQuestion, trajectory: Trajectory | ObservedEpisodes, grid: float, integers: DrawIntegers
) -> Answer:
    from .moments import moment_cells

    return 0, moment_cells(question, ObservedEpisodes.of(trajectory), grid)


def _targets(question: TargetsQuestion, trajectory: Trajectory, grid: float, integers: DrawIntegers) -> Answer:
    from .targets import target_cells

    return 0, target_cells(question, trajectory, grid)


_ANSWERERS: dict[str, Answerer] = {
    "counts": _counts,
    "bits": _bits,
    "budgeted": _budgeted,
    "bandit": _bandit,
    "step": _step,
    "asked": _asked,
    "asked_return": _asked_return,
    "returns": _returns,
    "mixture": _mixture,
    "moments": _moments,
    "targets": _targets,
}
"""How an episode answers each of our kinds of question."""


def answer(
    kind: str, question: Any, trajectory: Trajectory | ObservedEpisodes, grid: float, integers: DrawIntegers
) -> Answer:
    """One person's answer to a question of that kind, in whole multiples of the grid."""
    answerer: Answerer = _ANSWERERS.get(kind) or find(kind).answer
    return answerer(question, trajectory, grid, integers)
