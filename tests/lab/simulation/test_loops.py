"""The compiled loop has the law of the aggregate it stands for, mechanism by mechanism; with half the noise it has not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from confide import Joint, Local, NoPrivacy
from confide.data.privatizers import drawn, open_aggregate
from confide.lab.simulation import batched, mixtures, prepare, stepwise
from confide.lab.simulation.draws import World, layout_of, walk
from confide.lab.simulation.setting import Setting
from confide.lab.simulation.streams import Streams, spawn, streams
from confide.mdp import Policy
from confide.protocol.design import Design
from confide.protocol.kinds.counts import unpack
from tests.everyday import first_of

# Seeds are fixed. If both sides have one law, a Kolmogorov-Smirnov test rejects with this probability.
FALSE_ALARM = 1e-6
PEOPLE, SAMPLES = 6, 300
POLICY = Policy.uniform(3, 3, 2).probabilities

CASES: dict[str, Any] = {
    "none": NoPrivacy(),
    "laplace": Local(2.0),
    "gaussian": Local(2.0, 1e-3),
    "bounded": Local(2.0, 1e-2),
    "randomised-response": Local(2.0),
    "tree-laplace": Joint(1.0),
    "tree-gaussian": Joint(1.0, 1e-3),
}
HALF: dict[str, Any] = {
    "laplace": lambda one: replace(one, scale=one.scale / 2),
    "gaussian": lambda one: replace(one, sigma=one.sigma / 2),
    "bounded": lambda one: replace(one, bound=one.bound / 2),
    # The estimate of a bit has variance q (1 - q)/(1 - 2q)^2 = 1/(4 sinh^2(epsilon/2)).
    "randomised-response": lambda one: replace(one, bit_epsilon=2 * np.arcsinh(2 * np.sinh(one.bit_epsilon / 2))),
    "tree-laplace": lambda one: replace(one, scale=one.scale / 2),
    "tree-gaussian": lambda one: replace(one, scale=one.scale / 2),
}
Told = NDArray[np.float64]


def setting_of(name: str) -> Setting:
    mechanism = "auto" if name == "none" else name
    choices: dict[str, Any] = {"mechanism": mechanism, "schedule": "every", "horizon": 3}
    if name in ("gaussian", "tree-gaussian"):
        choices["budget"] = 0  # the loop tells of all that a person did
    return prepare("psrl", "riverswim/3", CASES[name], PEOPLE, **choices)


def looped(setting: Setting, luck: Streams) -> Told:
    """(2, cells) what the compiled loop has heard after the last person but one, and after the last."""
    model, question, mechanism = setting.model, setting.question, setting.design.mechanism
    respond, size, nodes = stepwise._RESPONSES[type(mechanism)](mechanism, question.cells)
    world, layout = World(model.transitions, model.rewards, model.initial), layout_of(question)
    received, result = np.zeros(question.cells), []
    for person in range(1, PEOPLE + 1):
        walk(world, POLICY, layout, luck.world, received)
        respond(person, size, question.trials.astype(np.float64), nodes, luck.noise, received)
        result.append(received.copy())
    return np.array(result[-2:])


def booked(setting: Setting, luck: Streams) -> Told:
    """The same as an aggregate tells it."""
    aggregate, result = open_aggregate(setting.design, luck.replayable, simulated=True), []
    hear = batched.group_drawing(setting, luck.world, luck.noise)
    for person in range(PEOPLE):
        for total in hear(setting.design.question, POLICY[None], 1, person):
            aggregate.take_sum(total)
        result.append(packed(setting, aggregate.close()))
    return np.array(result[-2:])


def packed(setting: Setting, release: Any) -> Told:
    """The cells of a release in the order of the question."""
    counts, question = release.counts, setting.question
    values = {
        "visits": counts.visits,
        "rewards": counts.rewards,
        "squares": counts.squares,
        "centred": counts.rewards - counts.visits / 2,
        "transitions": counts.transitions[: question.shape("transitions")[0]],
    }
    cells = np.concatenate([values[part].ravel() for part in question.parts])
    assert all(np.allclose(*pair) for pair in zip(unpack(question, cells), counts, strict=True))
    return cells


def sides(loop: Setting, aggregate: Setting) -> list[Told]:
    """Samples of both in four random directions, which see means, variances and what cells have to do with each other."""
    left = np.array([looped(loop, streams(root)) for root in spawn(1, SAMPLES)])
    right = np.array([booked(aggregate, streams(root)) for root in spawn(2, SAMPLES)])
    weights = np.random.default_rng(0).normal(size=(4, *left.shape[1:]))
    return [np.tensordot(side, weights, axes=([1, 2], [1, 2])) for side in (left, right)]


def least(loop: Setting, aggregate: Setting) -> float:
    """The least p-value: of the values, and of how far they are from the middle."""
    left, right = sides(loop, aggregate)
    middle = np.median(right, axis=0)
    pairs = [(left[:, i], right[:, i]) for i in range(4)]
    pairs += [(np.abs(left - middle)[:, i], np.abs(right - middle)[:, i]) for i in range(4)]
    return min(float(stats.ks_2samp(*pair).pvalue) for pair in pairs)


def mutant(setting: Setting, name: str) -> Setting:
    """With half the noise."""
    design: Design = setting.design
    return replace(setting, design=replace(design, act=replace(design.act, mechanism=HALF[name](design.mechanism))))


@pytest.mark.parametrize("name", first_of(CASES))
def test_the_loop_has_the_law_of_the_book(name: str) -> None:
    setting = setting_of(name)
    assert stepwise.supports(setting)
    assert least(setting, setting) > FALSE_ALARM


@pytest.mark.parametrize("name", first_of(HALF))
def test_half_the_noise_in_the_loop_is_noticed(name: str) -> None:
    setting = setting_of(name)
    assert least(mutant(setting, name), setting) < FALSE_ALARM


def test_every_mechanism_of_the_loop_is_compared() -> None:
    assert {type(setting_of(name).design.mechanism) for name in CASES} == set(stepwise._RESPONSES)


@pytest.mark.parametrize("privacy", [Local(20, 0.1), Joint(20, 0.1)], ids=str)
@pytest.mark.parametrize("half", [False, True])
def test_the_noise_of_mixtures(privacy: Any, half: bool) -> None:
    """What the loop adds to Gram sums, against the aggregate's: both about people whose sums are zero."""
    setting = prepare("ucrl-vtr", "riverswim-mixture/3", privacy, PEOPLE, schedule="every", c=0.01)
    design = setting.design
    changed = replace(
        design, act=replace(design.act, mechanism=replace(design.mechanism, sigma=design.mechanism.sigma / 2))
    )
    noise, form = mixtures._noise_of(changed if half else design), design.question
    nobody = np.zeros((1, form.width)), np.ones(1, dtype=np.int64)
    left, right = [], []
    for root in spawn(1, SAMPLES):
        luck, given = streams(root), np.zeros(form.width)
        aggregate = open_aggregate(design, luck.replayable, simulated=True)
        buffers = np.zeros((noise.weights.size, form.width))
        for _ in range(PEOPLE):
            mixtures.draw_noise(noise, 1, luck.noise, buffers, given)
            for total in drawn(design, *nobody, luck.policy):
                aggregate.take_sum(total)
            release = aggregate.close()
        left.append(np.concatenate([part.ravel() for part in form.unpack(given)]))
        right.append(np.concatenate([release.gram.ravel(), release.vector.ravel()]))
    weights = np.random.default_rng(0).normal(size=left[0].size)
    pair = [np.array(side) @ weights for side in (left, right)]
    noticed = min(stats.ks_2samp(*pair).pvalue, stats.ks_2samp(*(np.abs(side) for side in pair)).pvalue)
    assert (noticed < FALSE_ALARM) == half
