"""The engine for categories that devices report, of an asked pair or a sampled step, and compiled learners: one compiled loop over
groups of people, each drawn at once.

It has the law of the batched engine, whose server it stands for: `mechanisms.unary` says what is sent, `kinds.asked` and
`kinds.step` how sums are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, cast

import numpy as np
from numpy.random import Generator

from ...compiled import compiled, specialise
from ...errors import InvalidInput
from ...learning.learners.learner import Plan, plan
from ...learning.planning.evaluation import flow_visits
from ...mechanisms.subset_sums import add_subsets
from ...mechanisms.unary import KARY, SUBSET, SampledStep
from ...privacy.guarantee import LOCAL
from ...protocol.kinds import asked, step
from ...protocol.kinds.asked import ASIDE, FINEST
from ...protocol.kinds.counts import SINGLE_STEP
from ...protocol.releases.release import NOBODY, Counts, Noise
from .bundles import LearnerArrays, Luck, learning_of, luck_of
from .draws import (
    Array,
    Integers,
    Layout,
    World,
    draw_asked,
    draw_sampled,
    estimates_of,
    layout_of,
    split,
    successes,
    world_value,
)
from .group_loop import Groups, groups_of, outcome_of
from .setting import Outcome, Setting
from .shuffle_loop import followers
from .streams import streams

BITWISE, ONE_NAME, SETS = 0, 1, 2


class Messages(NamedTuple):
    """What devices send.

    by_pair: whether of an asked pair, else of a sampled step. law: (rows,) weights of the pairs; expected: what they follow,
    (L, S, A), or empty. encoding: bits, one name or sets of `size` names; hit and miss: how likely the true category is named,
    and any other. received: (rows, k) how many messages named each category, of this many reporters, (rows,). share: of the
    people; others report their return, from which nothing is learned.
    """

    by_pair: bool
    law: Array
    expected: Array
    encoding: int
    size: int
    hit: float
    miss: float
    received: Integers
    reporters: Integers
    share: float


@compiled
def follow(expected: Array, law: Array) -> None:
    """Write the weights of a law that asks about pairs as they are expected to be visited: `kinds.asked.following`."""
    flat, total = expected.reshape(-1), 0.0
    for i in range(law.size):
        law[i] = min(flat[i], 1.0) if flat[i] > 0.0 else 0.0
        total += law[i]
    for i in range(law.size):
        share = law[i] / total if total > 0.0 else 1.0 / law.size
        law[i] = max(1.0, np.rint(((1.0 - ASIDE) * share + ASIDE / law.size) * FINEST * law.size))


@compiled
def answer(
    messages: Messages, world: World, policy: Array, people: int, layout: Layout, rng: Generator, out: Integers
) -> None:
    """Add the true categories, out (rows, k), of this many people who follow the policy."""
    if messages.by_pair:
        people_by_row = np.zeros(len(out), dtype=np.int64)
        about_pairs = people if messages.share == 1.0 else successes(people, messages.share, rng)
        split(about_pairs, messages.law / messages.law.sum(), rng, people_by_row)
        draw_asked(world, policy, people_by_row, layout, rng, out)
    else:
        visits = np.zeros(policy.shape)
        flow_visits(world.transitions, world.initial, policy, np.zeros((2, policy.shape[1])), visits)
        draw_sampled(world, visits, people, layout, rng, out)


@compiled
def send(messages: Messages, true: Integers, rng: Generator) -> None:
    """Add the messages of people of whom true (rows, k) are in each category."""
    categories = true.shape[1]
    alike, named = np.full(categories, 1.0 / categories), np.zeros(categories, dtype=np.int64)
    for row in range(len(true)):
        many = true[row].sum()
        if many == 0:
            continue
        messages.reporters[row] += many
        received = messages.received[row]
        if messages.encoding == SETS:
            add_subsets(true[row], messages.size, messages.hit, rng, received)
        elif messages.encoding == ONE_NAME:
            rest = many
            for c in range(categories):
                honest = successes(true[row, c], messages.hit - messages.miss, rng)
                received[c] += honest
                rest -= honest
            split(rest, alike, rng, named)
            for c in range(categories):
                received[c] += named[c]
        else:
            for c in range(categories):
                received[c] += successes(true[row, c], messages.hit, rng)
                received[c] += successes(many - true[row, c], messages.miss, rng)


@compiled
def read(messages: Messages, horizon: int, counts: Counts) -> None:
    """Write the counts that are estimated from all messages so far."""
    layers, states, actions = counts.visits.shape
    followed = counts.transitions.shape[3]
    width = max(1, followed)
    everybody = messages.reporters.sum()
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                pair = (layer * states + s) * actions + a
                row, first, scale = pair, 0, 1.0
                if not messages.by_pair:
                    row, first = layer, 2 * width * (s * actions + a)
                    scale = float(horizon) if layers == 1 else everybody / max(messages.reporters[row], 1)
                nobody = messages.reporters[row] * messages.miss
                scale /= messages.hit - messages.miss
                visits, rewards = 0.0, 0.0
                for t in range(width):
                    unpaid = scale * (messages.received[row, first + 2 * t] - nobody)
                    paid = scale * (messages.received[row, first + 2 * t + 1] - nobody)
                    if followed > 0:
                        counts.transitions[layer, s, a, t] = unpaid + paid
                    visits += unpaid + paid
                    rewards += paid
                counts.visits[layer, s, a], counts.rewards[layer, s, a] = visits, rewards
                counts.squares[layer, s, a] = rewards
                if messages.by_pair:
                    counts.people[layer, s, a] = messages.reporters[row]


def loop(
    world: World,
    layout: Layout,
    groups: Groups,
    learning: LearnerArrays,
    messages: Messages,
    luck: Luck,
    counts: Counts,
    policy_values: Array,
) -> None:
    """Run all groups. policy_values: (G + 1, M), the values of the M policies before each group and after the last, of which
    every user follows one.
    """
    policies = np.zeros((policy_values.shape[1], *learning.policy.shape))
    horizon, users = policies.shape[1], 0
    true = np.zeros(messages.received.shape, dtype=np.int64)
    for t in range(len(policy_values)):  # a plan that stands here once is compiled in half the time
        if t > 0:
            people = groups.people[t - 1]
            true[:] = 0
            if messages.expected.size > 0:
                follow(messages.expected, messages.law)
            many = followers(people, policies, luck.worlds)
            for m in range(len(policies)):
                answer(messages, world, policies[m], many[m], layout, luck.worlds, true)
            send(messages, true, luck.noises)
            users += people
            read(messages, horizon, counts)
        told = groups.noise[t]
        known = Noise(told[0], told[1], told[2], told[3], told[4])
        estimates = estimates_of(counts, groups.radii[t], known, float(users))
        for m in range(len(policies)):
            plan(estimates, learning.constants, learning.memory, luck.choices, policies[m], learning.values)
            policy_values[t, m] = world_value(world, policies[m], learning.flow)
    learning.policy[:] = policies[0]


@cache
def _loop(name: str, the_plan: Plan) -> Callable[..., None]:
    return specialise(loop, name, plan=the_plan)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: one category a person under local privacy, a known model, a learner with a compiled plan."""
    design, learner = setting.design, setting.tabular
    if design.trust != LOCAL or not (design.kind.first_visits or design.kind.name == step.KIND) or learner is None:
        return False
    told = design.counts
    followed = told.next_states == told.spec.states or (told.parts == SINGLE_STEP and design.kind.name == step.KIND)
    known = setting.environment.model is not None and type(design.devices[0]) is SampledStep
    return known and followed and not setting.schedule.burn_in


def messages_of(setting: Setting, learning: LearnerArrays) -> Messages:
    """The messages of a design, of which none was sent."""
    design, learner = setting.design, setting.tabular
    mechanism = cast(SampledStep, design.devices[0])
    question, pairs = design.question, asked.family_of(design)
    by_pair, rows = pairs is not None, question.rows if pairs is None else pairs.pairs
    following = learner.expected if learner is not None and by_pair else None
    expected = NOBODY if following is None else following(learning.memory)
    encoding = {KARY: ONE_NAME, SUBSET: SETS}.get(mechanism.encoding, BITWISE)
    return Messages(
        by_pair,
        np.ones(rows),
        expected,
        encoding,
        int(mechanism.ones or 0),
        mechanism.hit,
        mechanism.miss,
        np.zeros((rows, question.width), dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        1.0 if pairs is None else pairs.share,
    )


def no_counts(setting: Setting) -> Counts:
    """Room for the counts that are estimated, and for how many people were asked about each pair."""
    spec = setting.counts.spec
    pairs = (spec.layers, spec.states, spec.actions)
    people = np.zeros(pairs) if setting.design.kind.first_visits else NOBODY
    return Counts(
        np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros((*pairs, setting.counts.followed)), people
    )


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, group by group."""
    learner, model, groups = setting.tabular, setting.model, groups_of(setting)
    if learner is None or not supports(setting):
        raise InvalidInput(
            "category-loop-learner",
            "This loop is for categories and learners with a compiled plan. Use the batched engine.",
        )
    learning, last, counts = learning_of(setting, learner), Noise(*groups.noise[-1]), no_counts(setting)
    policy_values = np.empty((len(groups.people) + 1, learner.models_for(last, max(1, counts.transitions.size))))
    planning = learner.plan_for(last, setting.context.spec)
    _loop(f"{planning.__module__}_{planning.__name__}".replace(".", "_"), planning)(
        World(model.transitions, model.rewards, model.initial),
        layout_of(setting.counts),
        groups,
        learning,
        messages_of(setting, learning),
        luck_of(streams(root)),
        counts,
        policy_values,
    )
    return outcome_of(setting, policy_values, learning.policy)
