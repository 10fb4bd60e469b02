"""The choices of a simulation are one value, which is written down and read back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from confide import Joint
from confide.errors import InvalidInput
from confide.lab import environments
from confide.lab.simulation import Choices, complete, prepare, simulate, simulate_offline
from confide.learning.learners import make
from confide.mdp import Model
from tests.refusals import refused


def test_choices_are_written_down_and_read_back() -> None:
    choices = Choices.of("ucbvi", "riverswim/3", Joint(1.0, 1e-6), episodes=50, seed=3, bonus="bernstein")
    assert choices.options == {"bonus": "bernstein"} and (choices.seed, choices.episodes, choices.seeds) == (3, 50, 5)
    assert Choices.from_json(json.loads(json.dumps(choices.as_json()))) == choices
    setting = complete(choices)
    assert setting.choices is choices and setting.guarantee == Joint(1.0, 1e-6) and setting.schedule.users == 50


def test_what_is_no_plain_value_is_not_written_down() -> None:
    world = environments.make("riverswim/3", horizon=3)
    assert Choices.of("ucbvi", world).as_json() is None
    assert Choices.of(make("ucbvi"), "riverswim/3").as_json() is None
    assert Choices.of("ucbvi", "riverswim/3", features=[1.0]).as_json() is None


@pytest.mark.parametrize("document", [None, {}, {"learner": "ucbvi"}])
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(InvalidInput, match="another version"):
        Choices.from_json(document)


def test_an_option_without_effect_is_refused() -> None:
    with pytest.raises(InvalidInput, match="takes no options"):
        prepare(make("ucbvi"), "riverswim/3", alpha=3.0)


def test_a_model_is_a_world() -> None:
    moves, rewards = np.full((2, 2, 2), 0.5), np.array([[0.0, 1.0], [1.0, 0.0]])
    model = Model(moves, rewards, np.array([0.5, 0.5]), 2)
    run = simulate("ucbvi", model, episodes=20, seeds=1)
    assert repr(run) == "Run(a world of 2 states and 2 actions, ucbvi, no privacy, 20 episodes, 1 seed)"
    assert np.array_equal(
        run.regret, simulate("ucbvi", environments.Environment.known(model), episodes=20, seeds=1).regret
    )
    assert simulate_offline(model, episodes=20, seeds=1).environment == "a world of 2 states and 2 actions"
    assert prepare("ucbvi", model, model="per-step").context.spec.dynamics == "per-step"


def test_what_is_no_world_and_a_horizon_without_effect_are_refused() -> None:
    world = environments.make("riverswim/3", horizon=3)
    assert prepare("ucbvi", world, horizon=3).context.spec.horizon == 3
    with refused("environment-horizon-fixed", match="or 3,.*Got 5"):
        prepare("ucbvi", world, horizon=5)
    with refused("environment-type"):
        prepare("ucbvi", [0.5])  # type: ignore[arg-type]
