"""The batched engine: whole groups of people between two releases, drawn at once. Exact for the schedule it runs.

The sums of what a group would have sent go through the same aggregate as reports of single people.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from ...data.privatizers import drawn, open_aggregate
from ...learning.planning.addresses import address_of
from ...learning.planning.evaluation import flow_value
from ...loading import sibling
from ...mdp import Model
from ...protocol.design import Design
from ...protocol.kinds import asked, asked_return, bandit, bits, budgeted, counts, step
from ...protocol.kinds.asked import AskedQuestion
from .draws import Array, World, draw_counts_at, draw_sampled_at, layout_of, totals_of, walk_budgeted
from .setting import Outcome, Setting
from .streams import streams

if TYPE_CHECKING:
    from ...data.privatizers import Total
    from ...protocol.kinds.asked_return import AskedReturnQuestion
    from ...protocol.kinds.bits import BitQuestion
    from ...protocol.kinds.budgeted import BudgetedQuestion
    from ...protocol.kinds.counts import CountQuestion
    from ...protocol.kinds.question import Member
    from ...protocol.kinds.step import StepQuestion
    from ...protocol.releases import Sum

Totals = tuple[Array, NDArray[np.int64]]
Drawing = Callable[..., Totals]
"""draw(question, policy, people, rng): exact totals (rows, width) of a group's answers to a question of one kind, and how many
people (rows,) gave them."""


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed: the learner plans, a group follows the plan, the aggregate is closed, the learner learns."""
    for name in LOOPS.get(setting.design.kind.name, ()):
        loop = sibling(str(__package__), name)
        if loop.supports(setting):
            return cast(Outcome, loop.run(setting, root))
    return run_by_aggregates(setting, root)


LOOPS = {
    counts.KIND: ("group_loop",),
    asked.KIND: ("category_loop",),
    asked_return.KIND: ("category_loop",),
    bits.KIND: ("shuffle_loop",),
    step.KIND: ("category_loop", "shuffle_loop"),
}
"""The compiled loops of a kind of question: modules of this package, of which one is loaded when it may play."""


def run_by_aggregates(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """The same for whatever has no compiled loop: sums go through the aggregate that real reports go through."""
    rng, learner, design = streams(root), setting.learner, setting.design
    draw_sums = group_drawing(setting, rng.world, rng.noise)
    aggregate = open_aggregate(design, rng.replayable, simulated=True)
    state = setting.begin(rng.policy)
    ends = setting.schedule.ends
    gaps = np.empty(len(ends))

    for group, people in enumerate(np.diff(ends, prepend=0)):
        gaps[group] = (setting.optimal_value - setting.value_of_all(state.policies)) * people
        if not setting.due(group):
            break
        question = design.question.member_for(learner.ask(state))
        for total in draw_sums(question, state.policies, int(people), group):
            aggregate.take_sum(total)
        state = learner.learn(state, aggregate.close(question))
    return Outcome(curve(ends, gaps, setting.checkpoints), setting.value_of_all(state.policies), state.policy.copy())


def supports(setting: Setting) -> bool:
    """Whether groups can be drawn at once: the model is known, and the law of their answers."""
    kind = setting.design.kind
    return setting.environment.model is not None and (kind.name in _DRAWINGS or kind.drawn)


def group_drawing(
    setting: Setting, worlds: np.random.Generator, noises: np.random.Generator
) -> Callable[[Member, Array, int, int], list[Sum | Total]]:
    """A function draw_sums(question, policies, people, group): the sums of what a group of people would send.

    Episodes and noise come from different streams. Every user follows one of the policies (M, H, S, A), drawn at random.
    """
    design, model = setting.design, setting.model
    draw = drawing(design, World(model.transitions, model.rewards, model.initial))

    def draw_sums(question: Member, policies: Array, people: int, group: int) -> list[Sum | Total]:
        policy_count = len(policies)
        sizes = (
            [people]
            if policy_count == 1
            else worlds.multinomial(people, np.full(policy_count, 1 / policy_count)).tolist()
        )
        parts = [draw(question, policy, size, worlds) for policy, size in zip(policies, sizes, strict=True)]
        totals, people_by_row = parts[0] if policy_count == 1 else (sum(each) for each in zip(*parts, strict=True))
        return drawn(design, totals, people_by_row, noises, batch=group)

    return draw_sums


def drawing(design: Design, world: World) -> Drawing:
    """The function that draws the totals of a group's answers, for the design's kind of question."""
    ours = _DRAWINGS.get(design.kind.name)
    return partial(design.kind.draw, Model(*world, design.question.spec.horizon)) if ours is None else ours(world)


def _counts(world: World) -> Drawing:
    def draw(question: CountQuestion, policy: Array, people: int, rng: np.random.Generator) -> Totals:
        totals = np.zeros((1, question.cells))
        draw_counts_at(world, policy, people, layout_of(question), address_of(rng), totals[0])
        return totals, np.array([people])

    return draw


def _budgeted(world: World) -> Drawing:
    """Budgets are not linear in totals, so people walk one by one."""

    def draw(question: BudgetedQuestion, policy: Array, people: int, rng: np.random.Generator) -> Totals:
        totals = np.zeros((1, question.width))
        walk_budgeted(world, policy, people, layout_of(question.counts), question.budget, rng, totals[0])
        return totals, np.array([people])

    return draw


def _single(world: World) -> Drawing:
    counted = _counts(world)
    return lambda question, policy, people, rng: counted(question.counts, policy, people, rng)


def _bits(world: World) -> Drawing:
    """Simulated rewards are 0 or 1, so all m bits of a reward are alike: a count of N rewards is m N ones."""
    counted = _counts(world)

    def draw(question: BitQuestion, policy: Array, people: int, rng: np.random.Generator) -> Totals:
        totals, many = counted(question.counts, policy, people, rng)
        return totals * question.weights, many

    return draw


def _steps(world: World) -> Drawing:
    def draw(question: StepQuestion, policy: Array, people: int, rng: np.random.Generator) -> Totals:
        totals = np.zeros((question.rows, question.width), dtype=np.int64)
        layout, room = layout_of(question.counts), np.empty((2, policy.shape[1]))
        draw_sampled_at(world, policy, people, layout, address_of(rng), room, totals)
        return totals.astype(np.float64), totals.sum(axis=1)

    return draw


def _asked(world: World) -> Drawing:
    return partial(totals_of, world)


def _asked_return(world: World) -> Drawing:
    """Those who report a return are fresh people: their bits are independent, each one with the chance V/H, V the value of the
    policy."""

    def draw(question: AskedReturnQuestion, policy: Array, people: int, rng: np.random.Generator) -> Totals:
        totals = np.zeros((question.rows, question.width))
        returning, horizon = int(rng.binomial(people, 1 - question.share)), question.spec.horizon
        about = AskedQuestion(question.counts, question.law[:-1])
        totals[:-1], by_pair = totals_of(world, about, policy, people - returning, rng)
        value = flow_value(*world, policy, np.empty((2, question.spec.states)))
        earned = horizon - value if question.counts.objective == "cost" else value
        ones = int(rng.binomial(returning, min(max(earned / horizon, 0.0), 1.0)))
        totals[-1, :2] = returning - ones, ones
        return totals, np.append(by_pair, returning)

    return draw


_DRAWINGS: dict[str, Callable[[World], Drawing]] = {
    counts.KIND: _counts,
    budgeted.KIND: _budgeted,
    bandit.KIND: _single,
    bits.KIND: _bits,
    step.KIND: _steps,
    asked.KIND: _asked,
    asked_return.KIND: _asked_return,
}


def curve(ends: NDArray[np.int64], gaps: NDArray[np.float64], checkpoints: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cumulative regret at the checkpoints; inside a group it grows in a straight line, so this is exact."""
    group_regret = np.concatenate([[0.0], np.cumsum(gaps)])
    regret: NDArray[np.float64] = np.interp(checkpoints, np.concatenate([[0], ends]), group_regret)
    return regret
