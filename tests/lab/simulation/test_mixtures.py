"""The compiled loop of mixtures against Algorithm 1 in plain Python, against the protocol itself, and as a command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import reference_vtr
from confide import cli
from confide.errors import InvalidInput, UnknownName
from confide.lab.environments import Environment, make
from confide.lab.simulation import mixtures, prepare, simulate
from confide.lab.simulation.draws import World
from confide.lab.simulation.streams import spawn, streams
from confide.mdp import MixtureFeatures, Model
from confide.privacy import Joint, Local, NoPrivacy
from tests.refusals import refused


@pytest.mark.parametrize(
    "address", ["hard-mixture/d3h3", "riverswim-mixture/3", "riverswim-mixture/3?inhomogeneous=true"]
)
def test_the_loop_is_algorithm_1_to_the_last_digit(address: str) -> None:
    """Same draws, same noise, same regret: the loop in plain Python was written on its own."""
    setting = prepare("ucrl-vtr", address, Local(100, 0.1), 40, calibration="paper", bonus_scale=0.5)
    assert setting.design.question.kind == "mixture" and setting.design.trust == "local"
    root, world = spawn(0, 1)[0], setting.environment
    outcome = mixtures.run(setting, root)
    assert world.features is not None
    phi = world.features.dense().maps.reshape(world.spec.states, world.spec.actions, world.spec.states, -1)
    luck, sigma = streams(root), setting.design.mechanism.sigma
    values = reference_vtr.learn(world.model, phi, 40, sigma, 0.5, 0.1, luck.world, luck.noise)
    assert len(set(values)) > 3  # it did change its mind
    expected = np.cumsum(setting.optimal_value - np.array(values))[setting.checkpoints - 1]
    np.testing.assert_allclose(outcome.regret, expected, atol=1e-12)


@pytest.mark.parametrize("privacy", [NoPrivacy(), Local(20, 0.1), Joint(20, 0.1)], ids=str)
def test_the_loop_and_the_protocol_agree(privacy: Any) -> None:
    """Different draws, same law: mean final regret within a few standard errors."""
    choices: dict[str, Any] = {"episodes": 200, "schedule": "batches:40", "c": 0.02}
    fast = simulate("ucrl-vtr", "riverswim-mixture/3", privacy, seeds=40, **choices)
    slow = simulate("ucrl-vtr", "riverswim-mixture/3", privacy, seeds=8, engine="plain", **choices)
    assert (fast.engine, slow.engine) == ("mixture", "plain")
    spread = fast.regret[:, -1].std() * np.sqrt(1 / 40 + 1 / 8) + 0.02
    assert abs(fast.regret[:, -1].mean() - slow.regret[:, -1].mean()) < 5 * spread
    assert fast.certificate.as_json()["guarantees"] == slow.certificate.as_json()["guarantees"]


def test_it_learns_and_less_privacy_learns_more() -> None:
    runs = [
        simulate("ucrl-vtr", "riverswim-mixture/3", privacy, 4000, 4, schedule="growth:1.05")
        for privacy in (NoPrivacy(), Joint(1, 0.1), Local(10, 0.1), Local(0.1, 0.1))
    ]
    final = [run.summary()["mean"] for run in runs]
    assert final[0] < 120 and final[1] < 120 and final[2] < 0.5 * final[3]
    assert runs[1].final_value.mean() > 0.9 * runs[1].optimal_value


@pytest.mark.parametrize("privacy", [Local(10, 0.1), Joint(1, 0.1)], ids=str)
def test_a_table_is_told_in_counts(privacy: Any) -> None:
    """With default settings: of transitions alone, with less noise than Gram sums, which are there if c or a scale is chosen."""
    chosen = {"sums": {"c": 0.01}, "scale": {"bonus_scale": 0.5}, "loop": {"engine": "mixture"}, "sound": {}}
    for name, choices in chosen.items():
        calibration = "sound" if name == "sound" else "tight"
        setting = prepare("ucrl-vtr", "riverswim-mixture/3", privacy, 3000, calibration=calibration, **choices)
        assert setting.design.question.kind == "mixture"
    setting = prepare("ucrl-vtr", "riverswim-mixture/3", privacy, 3000)
    assert setting.learner.name == "ucrl-vtr" and setting.design.question.counts.parts == ("transitions",)
    assert setting.guarantee == privacy
    table, sums = (simulate("ucrl-vtr", "riverswim-mixture/3", privacy, 3000, 4, **each) for each in ({}, {"c": 0.01}))
    assert (table.engine, sums.engine) == ("batched", "mixture")
    assert table.summary()["mean"] < 0.5 * sums.summary()["mean"]


@pytest.mark.parametrize("world", ["riverswim-mixture/3", "riverswim-mixture/5"])
def test_no_privacy_is_no_worse_than_privacy(world: str) -> None:
    """UCRL-VTR as published is. With default settings the learner plans alike with noise and without."""
    none, joint, published = (
        simulate("ucrl-vtr", world, privacy, 3000, 5, **each)
        for privacy, each in ((NoPrivacy(), {}), (Joint(10, 0.1), {}), (NoPrivacy(), {"c": 0.15}))
    )
    assert none.summary()["mean"] < joint.summary()["mean"] < published.summary()["mean"]


def test_counts_need_no_delta() -> None:
    run = simulate("ucrl-vtr", "riverswim-mixture/3", Local(4), 3000, 2)
    assert run.certificate.guarantee.delta == 0 and run.certificate.guarantee.epsilon == pytest.approx(4, rel=1e-3)


def test_tight_is_better_than_sound() -> None:
    sound, tight = (
        simulate("ucrl-vtr", "riverswim-mixture/3", Local(10, 0.1), 3000, 3, calibration=calibration, schedule="every")
        for calibration in ("sound", "tight")
    )
    assert tight.summary()["mean"] < 0.6 * sound.summary()["mean"]


def test_seeds_replay_and_differ() -> None:
    one, same, other = (
        simulate("ucrl-vtr", "hard-mixture/d3h3", Local(1, 0.1), 100, 2, seed=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.regret, same.regret)
    assert (one.regret != other.regret).any()


def test_a_feature_map_of_ones_own() -> None:
    """Two known kernels mixed by an unknown weight: d = 2, as an array and as a function."""
    rng = np.random.default_rng(0)
    kernels = rng.dirichlet(np.ones(4), size=(2, 4, 3))  # (2, S, A, S)
    phi = np.moveaxis(kernels, 0, -1)
    model = Model(
        (0.3 * kernels[0] + 0.7 * kernels[1])[None], np.eye(4)[3][None, :, None].repeat(3, 2), np.eye(4)[0], 5
    )
    runs = []
    for features in (
        MixtureFeatures.from_array(phi),
        MixtureFeatures.from_function(lambda t, s, a: phi[s, a, t], 4, 3),
    ):
        world = Environment(model.spec, model, features=features)
        runs.append(simulate("ucrl-vtr", world, Joint(1, 0.1), 300, 2))
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    table = simulate("ucrl-vtr", Environment(model.spec, model), Joint(1, 0.1), 300, 2, engine="mixture")
    assert runs[0].summary()["mean"] < table.summary()["mean"]  # two unknowns are fewer than 48


def test_what_is_refused() -> None:
    with pytest.raises(UnknownName):
        simulate("ucrl-vtr", "riverswim-mixture/3", episodes=10, engine="batched", c=0.15)
    with pytest.raises(InvalidInput, match="delta above 0"):
        simulate("ucrl-vtr", "hard-mixture/d3h3", Local(1), 10)
    with refused("gram-not-definite", match="0 people.*ridge 0"):
        simulate("ucrl-vtr", "riverswim-mixture/3", episodes=10, ridge=0.0)
    world = make("riverswim/3", horizon=4)
    played = Environment(world.spec, interact=lambda policy, rng: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInput, match="needs known rewards"):
        simulate("ucrl-vtr", played, episodes=10)


def test_the_outlook() -> None:
    needed = [
        prepare("ucrl-vtr", "riverswim-mixture/3", privacy, 1000).episodes_needed
        for privacy in (NoPrivacy(), Joint(1, 0.1), Local(1, 0.1))
    ]
    assert needed[0] == 0 < needed[1] < needed[2]


@pytest.mark.parametrize("trust", ["none", "local", "joint"])
@pytest.mark.parametrize("address", ["riverswim-mixture/3", "hard-mixture/d3h3"])
def test_as_a_command(address: str, trust: str, capsys: pytest.CaptureFixture[str]) -> None:
    promise = [] if trust == "none" else ["--epsilon", "1", "--delta", "0.1"]
    line = [
        "simulate",
        address,
        "--learner",
        "ucrl-vtr",
        "--trust",
        trust,
        *promise,
        "--episodes",
        "50",
        "--seeds",
        "2",
    ]
    assert cli.run([*line, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    in_counts = "stepwise" if trust == "none" else "batched"
    engine = in_counts if address.startswith("riverswim") else "mixture"
    assert (document["learner"], document["engine"], document["seeds"]) == ("ucrl-vtr", engine, 2)
    if trust != "none":
        assert (
            0.8 < document["certificate"]["guarantees"][0]["epsilon"] <= 1.001
        )  # a mechanism of pure epsilon keeps less at a delta


def test_the_example_of_the_page_runs() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "linear-mixtures.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)
    assert names["run"].certificate.guarantee.epsilon == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("address", ["hard-mixture/d3h3", "riverswim-mixture/3", "mixture/4x2x3"])
def test_a_group_adds_what_its_people_add_one_by_one(address: str) -> None:
    """Different draws, same law: in each cell the means over 400 groups agree within 6 standard errors of their difference (of up
    to 200 cells a world one is off by chance in 4e-7 of all cases), and so do their standard deviations, within three tenths: 6 of
    their standard errors."""
    setting = prepare("ucrl-vtr", address, NoPrivacy(), 100, engine="mixture", schedule="batches:2")
    context, model = cast(Any, setting.context), setting.model
    problem, work = mixtures.problem(context.form, context.rewards), mixtures.workspace(context.form)
    world = World(model.transitions, model.rewards, model.initial)
    room = np.zeros((context.form.layers, context.form.features.blocks, context.form.block_cells))
    rng, people, many = np.random.default_rng(5), 50, 400
    work.scaled[:] = rng.random(work.scaled.shape)
    work.actions[:] = rng.integers(0, model.spec.actions, work.actions.shape)
    sums = np.zeros((2, many, room.size))
    for draw in range(many):
        cells = np.zeros_like(room)
        mixtures.add_group(world, problem, work, people, rng, cells)
        sums[0, draw] = cells.ravel()
        cells[:] = 0.0
        for _ in range(people):
            mixtures.walk_person(world, problem, work, rng, cells)
        sums[1, draw] = cells.ravel()
    means, spreads = sums.mean(axis=1), sums.std(axis=1)
    assert (spreads[1] > 0.01 * np.abs(means[1]).max()).any(), "people differ"
    np.testing.assert_array_less(np.abs(means[0] - means[1]), 6 * np.hypot(*spreads) / np.sqrt(many) + 1e-9)
    loud = spreads[1] > 1e-9
    assert np.abs(spreads[0][loud] / spreads[1][loud] - 1).max() < 0.3
    assert (spreads[0][~loud] < 1e-9).all()
