"""Two people who differ as much as two people can: the neighbouring inputs of a privatizer."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...data.statistics import round_rewards
from ...data.statistics.answers import answer, category
from ...data.trajectories import Trajectory
from ...mdp import Spec
from ...protocol.design import Design
from ...protocol.kinds import CountQuestion, budgeted, mixture
from ...protocol.kinds.mixture import MIXTURE, MixtureQuestion
from ...protocol.kinds.question import Member
from .events import Array

Pair = tuple[Trajectory, Trajectory]

RANDOM_SEED = 1
# A search for the worst pair looks at all episodes of a tiny problem, or at this many of them; at more where nothing is drawn.
MOST_EPISODES, MOST_TOLD = 96, 1024
# People who are as far apart as this share of the price need not be searched for.
FAR = 0.98


def pairs(spec: Spec) -> list[Pair]:
    """Two episodes without a common state or action; two that differ as much in as few cells as can be; two at random.

    The last of them ends after its first step, so that it shows where something depends on how long an episode is. Rewards
    are 0 or 1, so that rounding them draws nothing.
    """
    steps = np.arange(spec.horizon + 1)
    here, there = np.zeros_like(steps), np.full_like(steps, spec.states - 1)
    # At even steps the same pair with another reward and another next state, at odd steps another pair.
    turning = np.where(steps % 2, there, here)
    stay, move = here[1:], np.full_like(here[1:], spec.actions - 1)
    paid, unpaid = np.ones(spec.horizon), np.zeros(spec.horizon)
    rng = np.random.default_rng(RANDOM_SEED)
    anybody, short = _anybody(spec, rng), _anybody(spec, rng)
    short = Trajectory(short.states[:2], short.actions[:1], short.rewards[:1])
    return [
        (Trajectory(here, stay, paid), Trajectory(there, move, paid)),
        (Trajectory(here, stay, paid), Trajectory(turning, stay, unpaid)),
        (anybody, short),
    ]


def all_episodes(spec: Spec, most: int = MOST_EPISODES) -> list[Trajectory]:
    """Full episodes: those of `pairs`, then all with rewards of 0 and 1, or as many as `most` drawn at random."""
    known = [person for pair in pairs(spec) for person in pair if person.steps == spec.horizon]
    many = 2**spec.horizon * spec.actions**spec.horizon * spec.states ** (spec.horizon + 1)
    if many > most:
        rng = np.random.default_rng(RANDOM_SEED)
        return known + [_anybody(spec, rng) for _ in range(most)]
    sizes = ((spec.states, spec.horizon + 1), (spec.actions, spec.horizon), (2, spec.horizon))
    parts = (list(itertools.product(range(size), repeat=length)) for size, length in sizes)
    combinations = (map(np.array, each) for each in itertools.product(*parts))
    return known + [Trajectory(states, actions, paid.astype(np.float64)) for states, actions, paid in combinations]


def _widest(design: Design) -> MixtureQuestion:
    """The value functions that spread as wide as they may: nothing in the first state, the most in all others."""
    form = MIXTURE.question_of(design)
    values = np.zeros((form.spec.horizon + 1, form.spec.states))
    values[1:, 1:] = form.ranges[:, None]
    return MixtureQuestion(form, values)


def pairs_of(design: Design) -> list[Pair]:
    """Those of `pairs`; where none of them is as far apart as the price says, or people have a budget, also two who are."""
    spec, grid = design.question.spec, design.mechanism.grid
    known, price = pairs(spec), design.act.sensitivity.l2
    reached = max(
        np.linalg.norm(exact_message(design, one, grid) - exact_message(design, other, grid)) for one, other in known
    )
    if reached >= FAR * price and design.question.kind != budgeted.KIND:
        return known
    people = all_episodes(spec, MOST_TOLD)
    shown = np.stack([exact_message(design, person, grid) for person in people])
    squares = (shown**2).sum(axis=1)
    apart = squares[:, None] + squares[None] - 2 * shown @ shown.T
    first, second = np.unravel_index(int(apart.argmax()), apart.shape)
    further = bool(apart[first, second] > (1 + 1e-9) * reached**2)
    return [*known, (people[int(first)], people[int(second)])] if further else known


MemberMaker = Callable[[Design], Member]

_MEMBERS: dict[str, MemberMaker] = {mixture.KIND: _widest}


def register(kind: str, member: MemberMaker) -> None:
    """Enter which member of a family of questions of that kind an audit asks: the one that reveals most of a person."""
    _MEMBERS[kind] = member


def audited_question(design: Design) -> Member | None:
    """The question that people are asked in an audit; None for the only one of its family."""
    member = _MEMBERS.get(design.question.kind)
    return None if member is None else member(design)


def exact_message(design: Design, person: Trajectory, grid: float) -> Array:
    """(width,) a person's message before noise, whatever is asked; exact for rewards of 0 and 1."""
    member = audited_question(design)
    put = design.question if member is None else member
    cells = answer(design.question.kind, put, person, grid, _round_down)[1]
    return np.asarray(cells * grid)


def categories(question: CountQuestion, person: Trajectory) -> list[int]:
    """The category of every step, one of which a person reports where steps are sampled."""
    levels = round_rewards(person.rewards, question.levels, np.ones(person.steps))
    return [category(question, person, levels, step) for step in range(question.spec.horizon)]


def _round_down(high: int, many: int) -> NDArray[np.int64]:
    return np.zeros(many, dtype=np.int64)


def _anybody(spec: Spec, rng: np.random.Generator) -> Trajectory:
    states = rng.integers(spec.states, size=spec.horizon + 1)
    actions = rng.integers(spec.actions, size=spec.horizon)
    return Trajectory(states, actions, rng.integers(2, size=spec.horizon).astype(np.float64))
