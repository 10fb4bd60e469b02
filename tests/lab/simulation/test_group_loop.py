"""The compiled loop over groups has the law of the aggregates it stands for; with half the noise it has not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide import Joint, Local, NoPrivacy
from confide.data.privatizers import open_aggregate
from confide.lab.simulation import batched, group_loop, prepare, simulate, stepwise
from confide.lab.simulation.draws import World, draw_counts, layout_of
from confide.lab.simulation.setting import Setting
from confide.lab.simulation.streams import Streams, spawn, streams
from tests.everyday import first_of
from tests.lab.simulation.test_loops import HALF, POLICY, Told, packed
from tests.refusals import refused

# Seeds are fixed. If both sides have one law, a Kolmogorov-Smirnov test rejects with this probability.
FALSE_ALARM = 1e-6
SAMPLES, GROUPS, PEOPLE = 400, 5, 7

CASES: dict[str, Any] = {
    "none": NoPrivacy(),
    "laplace": Local(2.0),
    "tree-laplace": Joint(1.0),
    "tree-gaussian": Joint(1.0, 1e-3),
}


def setting_of(name: str, **choices: Any) -> Setting:
    given: dict[str, Any] = {
        "mechanism": "auto" if name == "none" else name,
        "schedule": f"batches:{GROUPS}",
        "horizon": 3,
    }
    if name == "tree-gaussian":
        given["budget"] = 0
    episodes = choices.pop("episodes", GROUPS * PEOPLE)
    return prepare("psrl", "riverswim/3", CASES[name], episodes, **{**given, **choices})


def looped(setting: Setting, luck: Streams) -> Told:
    """(2, cells) what the compiled loop has heard after the last group but one, and after the last."""
    model, known = setting.model, group_loop.noise_of(setting.design)
    assert known is not None
    add, noise = known
    world, layout = World(model.transitions, model.rewards, model.initial), layout_of(setting.counts)
    cells, result = np.zeros(setting.counts.cells), []
    for group in range(1, GROUPS + 1):
        fresh = np.zeros(setting.counts.cells)
        draw_counts(world, POLICY, PEOPLE, layout, luck.world, fresh)
        add(group, PEOPLE, fresh, noise, luck.noise, cells)
        result.append(cells.copy())
    return np.array(result[-2:])


def booked(setting: Setting, luck: Streams) -> Told:
    """The same as an aggregate tells it."""
    aggregate, result = open_aggregate(setting.design, luck.replayable, simulated=True), []
    hear = batched.group_drawing(setting, luck.world, luck.noise)
    for group in range(GROUPS):
        for total in hear(setting.design.question, POLICY[None], PEOPLE, group):
            aggregate.take_sum(total)
        result.append(packed(setting, aggregate.close()))
    return np.array(result[-2:])


def least(loop: Setting, aggregate: Setting) -> float:
    """The least p-value in four random directions: of the values, and of how far they are from the middle."""
    left = np.array([looped(loop, streams(root)) for root in spawn(1, SAMPLES)])
    right = np.array([booked(aggregate, streams(root)) for root in spawn(2, SAMPLES)])
    weights = np.random.default_rng(0).normal(size=(4, *left.shape[1:]))
    one, other = (np.tensordot(side, weights, axes=([1, 2], [1, 2])) for side in (left, right))
    middle = np.median(other, axis=0)
    pairs = [(one[:, i], other[:, i]) for i in range(4)]
    pairs += [(np.abs(one - middle)[:, i], np.abs(other - middle)[:, i]) for i in range(4)]
    return min(float(stats.ks_2samp(*pair).pvalue) for pair in pairs)


@pytest.mark.parametrize("name", CASES)
def test_a_group_is_told_of_as_an_aggregate_tells_it(name: str) -> None:
    setting = setting_of(name)
    assert group_loop.supports(setting)
    assert least(setting, setting) > FALSE_ALARM


@pytest.mark.parametrize("name", first_of([name for name in CASES if name in HALF]))
def test_half_the_noise_is_noticed(name: str) -> None:
    setting = setting_of(name)
    design = setting.design
    halved = replace(design, act=replace(design.act, mechanism=HALF[name](design.mechanism)))
    assert least(replace(setting, design=halved), setting) < FALSE_ALARM


LEARNERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "several policies in use": ("ucbvi", Joint(20.0, 1e-3), {"mechanism": "tree-gaussian", "budget": 0}),
    "a burn-in, and optimism": ("ucbvi", Joint(20.0, 1e-3), {"calibration": "sound", "bonus_scale": 0.01}),
    "counts by step": ("ucbvi", NoPrivacy(), {"model": "per-step", "bonus": "private", "bonus_scale": 0.01}),
    "one draw": ("obi", Local(8.0), {"mechanism": "laplace"}),
    "exact": ("ucbvi", NoPrivacy(), {}),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_regret_has_the_law_of_the_aggregates(name: str) -> None:
    learner, promise, choices = LEARNERS[name]
    setting = prepare(learner, "riverswim/3", promise, 300, horizon=4, **{"schedule": "growth:1.5", **choices})
    assert group_loop.supports(setting)
    compiled, plain = (
        np.array(
            [[one.regret[-1], one.final_value] for one in map(lambda root: play(setting, root), spawn(seed, many))]
        )
        for seed, many, play in ((1, 600, group_loop.run), (2, 200, batched.run_by_aggregates))
    )
    for left, right in zip(compiled.T, plain.T, strict=True):
        assert stats.ks_2samp(left, right).pvalue > FALSE_ALARM
        assert abs(left.mean() - right.mean()) < 5 * np.sqrt(left.var() / len(left) + right.var() / len(right)) + 1e-9


def test_radii_and_noise_are_those_of_the_releases() -> None:
    """Also where a table knows but some of the releases: a tree's noise differs from release to release."""
    setting = setting_of("tree-gaussian", episodes=20_000, schedule="batches:4500")
    design = setting.design
    ends = design.schedule.ends
    assert len(design.error_table[0]) < len(ends)
    radii, noise = group_loop.errors_after(design)
    for at in range(0, len(ends), 97):
        told, known = design.errors_at(int(ends[at]))
        assert np.array_equal(radii[at], told) and np.allclose(noise[at], known)


def test_a_last_group_that_is_cut_short_is_played_and_not_told_of() -> None:
    setting = prepare(
        "ucbvi", "riverswim/3", Joint(1.0, 1e-6), 1000, horizon=4, expected=3000, mechanism="tree-gaussian", budget=0
    )
    assert group_loop.supports(setting)
    assert not setting.due(len(setting.schedule.ends) - 1)
    assert len(group_loop.groups_of(setting).people) == len(setting.schedule.ends) - 1
    assert np.isfinite(group_loop.run(setting, spawn(1, 1)[0]).regret).all()


def test_what_is_no_count_of_whole_episodes_goes_another_way() -> None:
    setting = prepare("ucbvi", "riverswim/3", Local(1.0), 1000)
    assert not group_loop.supports(setting)
    assert stepwise.supports(setting_of("laplace"))
    with refused("group-loop-learner"):
        group_loop.run(setting, spawn(1, 1)[0])


def test_it_is_what_simulate_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    run = group_loop.run
    monkeypatch.setattr(group_loop, "run", lambda *given: called.append(1) or run(*given))
    simulate("obi", "riverswim/3", Local(4.0), 500, 2, mechanism="laplace", schedule="growth:1.2")
    assert called == [1, 1]
