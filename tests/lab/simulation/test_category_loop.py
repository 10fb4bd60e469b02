"""The compiled loop over categories has the law of the server it stands for; with another epsilon it has not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from confide import Local, NoPrivacy
from confide.data.privatizers import open_aggregate
from confide.lab.simulation import batched, category_loop, prepare
from confide.lab.simulation.bundles import learning_of
from confide.lab.simulation.draws import World, layout_of
from confide.lab.simulation.setting import Setting
from confide.lab.simulation.streams import Streams, spawn, streams
from confide.mdp import Policy
from confide.protocol.kinds.asked import following
from tests.everyday import first_of
from tests.refusals import refused

# Seeds are fixed. If both sides have one law, a Kolmogorov-Smirnov test rejects with this probability.
FALSE_ALARM = 1e-6
SAMPLES, GROUPS, PEOPLE = 400, 3, 40
POLICY = Policy.uniform(4, 3, 2).probabilities
Told = NDArray[np.float64]

CASES: dict[str, dict[str, Any]] = {
    "asked_return, sets": {"epsilon": 0.5, "mechanism": "asked-subset"},
    "asked_return, one name": {"epsilon": 4.0, "mechanism": "asked-k-ary"},
    "asked_return, by step": {"epsilon": 1.0, "model": "per-step", "mechanism": "asked-subset"},
    "step, bits": {"epsilon": 1.0, "mechanism": "unary"},
    "step, by step": {"epsilon": 1.0, "mechanism": "unary", "model": "per-step"},
    "step, sets": {"epsilon": 1.0, "horizon": 2},
    "step, a single one": {"epsilon": 1.0, "horizon": 1},
}


def setting_of(epsilon: float, **choices: Any) -> Setting:
    given: dict[str, Any] = {"horizon": 4, "schedule": f"batches:{GROUPS}", **choices}
    return prepare("ucbvi", "riverswim/3", Local(epsilon), GROUPS * PEOPLE, **given)


def policy_of(setting: Setting) -> Told:
    return POLICY[: setting.context.spec.horizon]


def looped(setting: Setting, luck: Streams) -> Told:
    """What the compiled loop has read after the last group."""
    assert setting.tabular is not None
    model, learning = setting.model, learning_of(setting, setting.tabular)
    messages, counts = category_loop.messages_of(setting, learning), category_loop.no_counts(setting)
    world, layout = World(model.transitions, model.rewards, model.initial), layout_of(setting.counts)
    for _ in range(GROUPS):
        true = np.zeros(messages.received.shape, dtype=np.int64)
        category_loop.answer(messages, world, policy_of(setting), PEOPLE, layout, luck.world, true)
        category_loop.send(messages, true, luck.noise)
    category_loop.read(messages, setting.context.spec.horizon, counts)
    return np.concatenate([part.ravel() for part in counts])


def booked(setting: Setting, luck: Streams) -> Told:
    """The same as an aggregate tells it."""
    aggregate = open_aggregate(setting.design, luck.replayable, simulated=True)
    hear = batched.group_drawing(setting, luck.world, luck.noise)
    for group in range(GROUPS):
        for total in hear(setting.design.question, policy_of(setting)[None], PEOPLE, group):
            aggregate.take_sum(total)
    return np.concatenate([part.ravel() for part in aggregate.close().counts])


def least(loop: Setting, aggregate: Setting) -> float:
    """The least p-value in four random directions: of the values, and of how far they are from the middle."""
    left = np.array([looped(loop, streams(root)) for root in spawn(1, SAMPLES)])
    right = np.array([booked(aggregate, streams(root)) for root in spawn(2, SAMPLES)])
    weights = np.random.default_rng(0).normal(size=(left.shape[1], 4))
    one, other = left @ weights, right @ weights
    middle = np.median(other, axis=0)
    pairs = [(one[:, i], other[:, i]) for i in range(4)]
    pairs += [(np.abs(one - middle)[:, i], np.abs(other - middle)[:, i]) for i in range(4)]
    return min(float(stats.ks_2samp(*pair).pvalue) for pair in pairs)


@pytest.mark.parametrize("name", CASES)
def test_messages_are_drawn_and_read_as_a_server_does(name: str) -> None:
    setting = setting_of(**CASES[name])
    assert category_loop.supports(setting)
    assert setting.design.kind.name == name.partition(",")[0]
    assert least(setting, setting) > FALSE_ALARM


@pytest.mark.parametrize("name", first_of(["asked_return, sets", "asked_return, one name", "step, bits"]))
def test_another_epsilon_is_noticed(name: str) -> None:
    choices = CASES[name]
    assert least(setting_of(**{**choices, "epsilon": 0.4 * choices["epsilon"]}), setting_of(**choices)) < FALSE_ALARM


def test_the_cases_have_every_encoding() -> None:
    settings = [setting_of(**choices) for choices in CASES.values()]
    encodings = {
        category_loop.messages_of(setting, learning_of(setting, setting.tabular)).encoding
        for setting in settings
        if setting.tabular is not None
    }
    assert encodings == {category_loop.BITWISE, category_loop.ONE_NAME, category_loop.SETS}


@pytest.mark.parametrize("name", first_of(["asked", "asked by step", "step", "bandit"]))
def test_regret_has_the_law_of_the_server(name: str) -> None:
    choices: dict[str, Any] = {
        "asked": {},
        "asked by step": {"model": "per-step", "mechanism": "asked-k-ary"},
        "step": {"mechanism": "unary"},
        "bandit": {"environment": "arms/2x3?seed=1", "horizon": 1},
    }[name]
    given: dict[str, Any] = {"environment": "riverswim/3", "horizon": 4, "schedule": "growth:1.5", **choices}
    setting = prepare("ucbvi", privacy=Local(6.0), episodes=2000, **given)
    assert category_loop.supports(setting)
    compiled, plain = (
        np.array(
            [[one.regret[-1], one.final_value] for one in map(lambda root: play(setting, root), spawn(seed, many))]
        )
        for seed, many, play in ((1, 600, category_loop.run), (2, 200, batched.run_by_aggregates))
    )
    for left, right in zip(compiled.T, plain.T, strict=True):
        assert stats.ks_2samp(left, right).pvalue > FALSE_ALARM
        assert abs(left.mean() - right.mean()) < 5 * np.sqrt(left.var() / len(left) + right.var() / len(right)) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_law_of_pairs_is_the_one_that_devices_are_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = rng.normal(0.3, 0.5, (1, 5, 3)) * (seed < 3)
    expected.flat[2] = np.nan if seed == 1 else 40.0 * (seed < 3)
    law = np.ones(15)
    category_loop.follow(expected, law)
    assert np.array_equal(law, following(expected))


def test_what_is_no_category_goes_another_way() -> None:
    for promise, choices in ((NoPrivacy(), {}), (Local(1.0), {"mechanism": "laplace"})):
        setting = prepare("ucbvi", "riverswim/3", promise, 1000, **choices)
        assert not category_loop.supports(setting)
        with refused("category-loop-learner"):
            category_loop.run(setting, spawn(1, 1)[0])
