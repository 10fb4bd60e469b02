"""Names, addresses, options, and what is said when they are wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidInput, UnknownName
from confide.lab.environments import Environment, RewardScale, catalogue, make, names, register, registry, sepsis
from confide.loading import announced
from confide.mdp import PER_STEP, STATIONARY, Model, Spec
from confide.mdp.address import Address, read_value, write_value
from tests.refusals import refused


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LISTINGS", dict(registry._LISTINGS))


@pytest.mark.parametrize("listing", catalogue(), ids=lambda listing: listing.name)
def test_every_listing_builds_what_it_declares(listing: registry.Listing) -> None:
    if listing.name == "icu-sepsis" and find_spec("icu_sepsis") is None:
        pytest.skip("icu-sepsis is not installed")
    environment = make(listing.example)
    assert (environment.spec.horizon, environment.spec.dynamics) == (listing.default_horizon, listing.model)
    assert environment.address == listing.example
    assert listing.description.endswith(".") and "\n" not in listing.description
    if environment.model is None:
        assert environment.world is not None and environment.world.horizon == environment.spec.horizon
        return
    assert environment.spec == environment.model.spec
    np.testing.assert_allclose(environment.model.transitions.sum(axis=-1), 1, atol=1e-12)
    assert environment.model.transitions.min() >= 0
    assert environment.model.initial.sum() == pytest.approx(1, abs=1e-12)


def test_names_are_sorted_and_complete() -> None:
    assert names() == sorted(names())
    assert {"riverswim", "riverswim-inhomogeneous", "random", "lower-bound", "chain", "grid", "gymnasium"} <= set(
        names()
    )


def test_the_same_address_is_the_same_world() -> None:
    one, same, other = make("random/3x2?seed=7"), make("random/3x2", seed=7), make("random/3x2")
    assert one.address == same.address == "random/3x2?seed=7"
    assert other.address == make("random/3x2", seed=None).address == make("random/3x2?seed=0").address == "random/3x2"
    assert one.model is not None and same.model is not None and other.model is not None
    np.testing.assert_array_equal(one.model.transitions, same.model.transitions)
    assert not np.array_equal(one.model.transitions, other.model.transitions)


def test_a_complete_address_names_every_option() -> None:
    environment = make("lower-bound/9x2?seed=2", episodes=1e7, epsilon=0.5)
    assert environment.address == "lower-bound/9x2?episodes=10000000&epsilon=0.5&seed=2"
    again = make(environment.address)
    assert environment.model is not None and again.model is not None
    np.testing.assert_array_equal(environment.model.transitions, again.model.transitions)


def test_a_stationary_world_can_be_told_per_step() -> None:
    plain, stated = make("riverswim/6", horizon=4), make("riverswim/6", horizon=4, model=PER_STEP)
    assert plain.model is not None and stated.model is not None
    assert (plain.spec.dynamics, stated.spec.dynamics) == (STATIONARY, PER_STEP)
    assert stated.model.transitions.shape == (4, 6, 2, 6)
    for layer in stated.model.transitions:
        np.testing.assert_array_equal(layer, plain.model.transitions[0])
    assert make("riverswim/6", horizon=1, model=PER_STEP).spec.dynamics == PER_STEP


@pytest.mark.parametrize(
    ("address", "keywords", "said"),
    [
        ("rivrswim/6", {}, "environment 'rivrswim' is not known. Did you mean 'riverswim'?"),
        ("riverswim", {}, "riverswim/STATES. Got 'riverswim'. Write 'riverswim/6'"),
        ("riverswim/", {}, "riverswim/STATES"),
        ("riverswim:6", {}, "riverswim/STATES"),
        ("riverswim/x", {}, "riverswim/STATES. Got 'riverswim/x'"),
        ("riverswim/y", {}, "states must be a whole number of at least 1. Got 'y'. Write 'riverswim/6'"),
        ("riverswim/2.5", {}, "states must be a whole number"),
        ("riverswim/1", {}, "states must be a whole number of at least 2. Got 1"),
        ("riverswim/6", {"horizon": 0}, "horizon must be a whole number of at least 1"),
        ("riverswim/6", {"horizon": 1e30}, "horizon must be a whole number"),
        ("riverswim/6", {"seed": 1}, "riverswim has no option 'seed'. It takes none."),
        ("riverswim/6", {"model": "perstep"}, "Did you mean 'per-step'?"),
        ("riverswim/100000", {}, "must fit into"),
        ("riverswim-inhomogeneous/5", {"model": STATIONARY}, "because riverswim-inhomogeneous/5 changes from step"),
        ("random/2", {}, "random/STATESxACTIONS. Got 'random/2'. Write 'random/2x2'"),
        ("random/2x2x2", {}, "random/STATESxACTIONS"),
        ("random/0x2", {}, "states must be a whole number of at least 1. Got 0"),
        ("random/2x2?seed", {}, "name=value&name=value"),
        ("random/2x2?sed=1", {}, "random has no option 'sed'. It takes seed."),
        ("random/2x2", {"seed": -1}, "seed must be a whole number of at least 0. Got -1"),
        ("grid/1x1", {}, "at least two cells"),
        ("icu-sepsis/3", {}, "of the form icu-sepsis"),
        ("", {}, "address must be"),
        (6, {}, "address must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(address: str, keywords: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(address, **keywords)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_lookup_errors() -> None:
    with pytest.raises(UnknownName):
        make("nothing-like-it/3")


def corridor(states: int, horizon: int, width: int = 1) -> Model:
    """A corridor."""
    return Model(
        np.eye(states)[None, :, None, :].repeat(width, axis=2), np.zeros((1, states, width)), np.eye(states)[0], horizon
    )


def test_an_environment_of_ones_own(own_registry: None) -> None:
    assert register("corridor", example="corridor/3", horizon=lambda states: 3 * states)(corridor) is corridor
    environment = make("corridor/4?width=2")
    assert environment.spec == Spec(4, 2, 12)
    assert (environment.address, environment.description) == ("corridor/4?width=2", "A corridor.")
    with refused("environment-name-taken"):
        register("corridor")(corridor)
    with pytest.raises(InvalidInput, match="free of"):
        register("corri/dor")(corridor)
    with refused("environment-takes-no-horizon"):
        register("bare")(lambda states: corridor(states, 1))


def test_plug_ins_are_found_and_loaded_only_when_asked_for(own_registry: None, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load() -> registry.Builder:
        loaded.append("corridor")
        return corridor

    def broken() -> registry.Builder:
        raise ImportError("no module named nowhere")

    points = [SimpleNamespace(name="corridor", load=load), SimpleNamespace(name="broken", load=broken)]
    monkeypatch.setattr(registry, "announced", announced.__wrapped__)  # which looks every time
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "confide.environments" else [])
    assert {"corridor", "broken"} <= set(names())
    make("riverswim/6")
    assert loaded == []
    assert make("corridor/4").spec == Spec(4, 1, 20)
    assert make("corridor/5").spec == Spec(5, 1, 20)
    assert loaded == ["corridor"]
    with refused("environment-plugin-broken"):
        make("broken")


def test_importing_the_room_loads_neither_gymnasium_nor_numba() -> None:
    code = "import sys, confide.lab.environments as e; e.names(); print({'gymnasium', 'numba'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_sepsis_says_how_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sepsis, "find_spec", lambda name: None)
    with refused("icu-sepsis-missing"):
        make("icu-sepsis")


def test_an_environment_has_a_model_or_can_be_played() -> None:
    model = corridor(2, 3)
    with refused("environment-model-or-play"):
        Environment(model.spec)
    with refused("environment-spec"):
        Environment(Spec(2, 1, 4), model)
    assert "array" not in repr(Environment.known(model))


words = st.text("abcdefghijklmnopqrstuvwyz-", min_size=1)
values = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(value=st.one_of(values, st.tuples(values, values)))
def test_values_survive_an_address(value: object) -> None:
    assert read_value(write_value(value)) == value


@given(name=words, rest=words, mark=st.sampled_from("/:"), options=st.dictionaries(words, values))
def test_addresses_are_read_and_written_alike(name: str, rest: str, mark: str, options: dict[str, object]) -> None:
    address = Address(name, mark, rest, options)
    assert Address.read(str(address)) == address


rewards = st.floats(-1e3, 1e3)


@given(low=rewards, width=st.floats(1e-2, 1e3), paid=st.lists(rewards, min_size=1, max_size=20))
def test_totals_convert_back_exactly(low: float, width: float, paid: list[float]) -> None:
    scale = RewardScale(low, low + width)
    total = sum(scale.to_learner(reward) for reward in paid)
    assert scale.to_people(total, len(paid)) == pytest.approx(sum(paid), abs=1e-8)
    assert scale.to_people(scale.to_learner(np.array(paid)).sum(), len(paid)) == pytest.approx(sum(paid), abs=1e-8)


def test_differences_convert_without_steps() -> None:
    scale = RewardScale(-10, 20)
    assert scale.to_people(3.0, 7) - scale.to_people(1.0, 7) == scale.to_people(2.0, 0) == 60


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0, float("inf")), (float("nan"), 1), ("a", 1)])
def test_a_scale_must_rise(low: float, high: float) -> None:
    with pytest.raises(InvalidInput, match="reward must be"):
        RewardScale(low, high)
