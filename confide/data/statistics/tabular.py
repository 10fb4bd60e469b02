"""Counts and return of one episode, as a question asks for them."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...protocol.kinds.budgeted import BudgetedQuestion
from ...protocol.kinds.counts import CENTRED, COUNTED, END, HALVES, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from ...protocol.kinds.returns import ReturnsQuestion
from ..trajectories.trajectory import Trajectory


def round_rewards(rewards: NDArray[np.float64], levels: int, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rewards in [0, 1] as whole multiples of 1/levels, rounded at random so that the mean is kept.

    The result stays in [0, 1] whatever the draw, so rounding changes no sensitivity.
    """
    scaled = rewards * levels
    low = np.floor(scaled)
    return (low + (uniforms < scaled - low)).astype(np.int64)


def admit(question: CountQuestion, trajectory: Trajectory) -> None:
    """Refuse an episode that is not of the question's sizes: its counts could move beyond the sensitivity."""
    spec, steps = question.spec, trajectory.steps
    if steps > spec.horizon:
        raise validation.refusal(
            "episode-too-long", "episode", f"at most {spec.horizon} steps long", steps, "Cut it, or raise the horizon."
        )
    lengths = len(trajectory.rewards), len(trajectory.states)
    if lengths not in ((steps, steps), (steps, steps + 1)):
        raise InvalidInput(
            "episode-arrays-lengths",
            f"An episode of {steps} actions does not have {lengths[0]} rewards and {lengths[1]} states.",
        )
    validation.indices("states", trajectory.states, spec.states)
    validation.indices("actions", trajectory.actions, spec.actions)
    if not ((trajectory.rewards >= 0) & (trajectory.rewards <= 1)).all():
        raise InvalidInput("reward-out-of-range", "rewards must lie in [0, 1]. Rescale or clip them.")
    if question.last == COUNTED and not trajectory.ended_known:
        raise InvalidInput(
            "last-state-unknown",
            "The state after the last step is needed but unknown. Ask with last='end' or last='dropped'.",
        )


def counted_steps(question: BudgetedQuestion, trajectory: Trajectory) -> NDArray[np.bool_]:
    """(T,) which steps of an episode the budget lets through: first visits of a pair, and repeats while it lasts."""
    return counted_in_history(question, [trajectory])[0]


def counted_in_history(question: BudgetedQuestion, history: Sequence[Trajectory]) -> list[NDArray[np.bool_]]:
    """For each episode of a history (T,) which of its steps the budget lets through."""
    spec, visits, counted, spent = question.spec, dict[tuple[int, int], int](), list[NDArray[np.bool_]](), 0
    for number, trajectory in enumerate(history, 1):
        counted.append(np.zeros(trajectory.steps, dtype=np.bool_))
        later = (question.episodes - number) * spec.horizon
        for step, pair in enumerate(zip(trajectory.states.tolist(), trajectory.actions.tolist(), strict=False)):
            before = visits.get(pair, 0)
            unseen = spec.states * spec.actions - len(visits)
            more = 2 * before + 1  # what one visit more adds to the sum of squares
            possible = min(later + spec.horizon - step - 1, unseen)
            if before == 0 or spent + more + possible <= question.budget:
                counted[-1][step], spent = True, spent + more
                visits[pair] = before + 1
    return counted


def count(
    question: CountQuestion,
    trajectory: Trajectory,
    reward_levels: NDArray[np.int64],
    counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """The cells of one person's answer, in units of 1/question.resolution.

    `reward_levels` are the rewards as multiples of 1/question.levels, from `round_rewards`. counted: (T,) which steps
    are; all of them if nothing is said.
    """
    admit(question, trajectory)
    spec, unit = question.spec, question.resolution
    steps = trajectory.steps
    layer = np.arange(steps) if spec.layers > 1 else np.zeros(steps, dtype=np.int64)
    paid = question.levels - reward_levels if question.objective == "cost" else reward_levels
    cells = np.zeros(question.cells, dtype=np.int64)
    included = np.ones(steps, dtype=np.int64) if counted is None else counted.astype(np.int64)
    pair = np.ravel_multi_index((layer, trajectory.states[:steps], trajectory.actions), question.shape(VISITS))
    weights = {
        VISITS: np.full(steps, unit),
        REWARDS: paid * (unit // question.levels),
        SQUARES: paid * paid * (unit // question.levels**2),
        CENTRED: (2 * paid - question.centre_units) * (unit // (2 * question.levels)),
        HALVES: np.full(steps, unit // 2),
    }
    for part, where in question.slices.items():
        if part != TRANSITIONS:
            np.add.at(cells[where], pair, weights[part] * included)
            continue
        moved = _moves(question, trajectory)
        index = np.ravel_multi_index((layer[: len(moved)], *moved.T), question.shape(part))
        np.add.at(cells[where], index, unit * included[: len(moved)])
    return cells


def _moves(question: CountQuestion, trajectory: Trajectory) -> NDArray[np.int64]:
    """(T', 3) state, action and next state of every counted transition."""
    steps = trajectory.steps
    following = trajectory.states[1 : steps + 1]
    if question.last == END:
        # The transition out of the episode goes to "end" whether it was cut off by the horizon or ended early.
        following = np.append(trajectory.states[1:steps], question.spec.states)[:steps]
    elif question.last != COUNTED:
        following = trajectory.states[1:steps]
    rows = len(following)
    return np.stack([trajectory.states[:rows], trajectory.actions[:rows], following], axis=1)


def summed_returns(
    question: ReturnsQuestion, earned: NDArray[np.float64], uniforms: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """(3,) the sums of u, u^2 and 1 over episodes with returns (n,), u = N g of the question.

    Rounding is at random and without bias: by these numbers in [0, 1), or by the operating system's randomness.
    """
    if uniforms is None:
        uniforms = np.asarray((np.frombuffer(os.urandom(8 * len(earned)), dtype=np.uint64) >> np.uint64(11)) * 2.0**-53)
    shares = np.clip((earned - question.low) / (question.high - question.low), 0.0, 1.0)
    u = round_rewards(shares, question.points, uniforms) - question.points // 2
    return np.array([u.sum(), (u * u).sum(), len(u)], dtype=np.int64)
