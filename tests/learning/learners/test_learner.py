"""The three verbs, the catalogue, and what both refuse."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from confide.errors import InvalidInput, UnknownName
from confide.learning import learners
from confide.learning.learners import Context, TabularLearner
from confide.learning.learners.catalogue import _LISTINGS
from confide.mdp import PER_STEP, Spec
from confide.mdp.knowledge import Knowledge
from confide.privacy import Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import COUNTED, DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from confide.protocol.releases.release import CountRelease, Counts, Radius
from tests.refusals import refused

TABULAR = ["ucbvi", "po", "obi", "psrl", "pucb"]
PAPERS = {
    "ucbvi": {"bonus": "private"},
    "obi": {"bonus": "paper"},
    "psrl": {"posterior": "paper"},
    "po": {"steps": "paper"},
    "pucb": {"bonus": "paper"},
}
SPEC = Spec(3, 2, 4)


def tabular(name: str, **options: Any) -> TabularLearner:
    learner = learners.make(name, **options)
    assert isinstance(learner, TabularLearner)
    return learner


def release(question: CountQuestion, users: int = 10, visits: float = 10.0) -> CountRelease:
    spec = question.spec
    seen = np.full((spec.layers, spec.states, spec.actions), visits)
    counts = Counts(seen, seen / 2, seen / 2, np.repeat(seen[..., None], spec.states, axis=-1) / spec.states)
    return CountRelease(question, users, counts, Radius.zero(), 0.0, Guarantee.none())


@pytest.mark.parametrize("name", TABULAR)
def test_the_papers_questions(name: str) -> None:
    learner = tabular(name, **PAPERS[name])
    question = learner.ask(learner.begin(Context(SPEC, 100), np.random.default_rng(0)))
    assert question.parts == (
        (VISITS, REWARDS, SQUARES, TRANSITIONS) if name == "psrl" else (VISITS, REWARDS, TRANSITIONS)
    )
    assert question.last == (DROPPED if name in ("obi", "psrl") else COUNTED)
    assert question.objective == ("cost" if name in ("ucbvi", "po") else "reward")
    assert learners.listing(name).paper == PAPERS[name]


@pytest.mark.parametrize("name", TABULAR)
def test_before_anybody_came_everything_is_possible(name: str) -> None:
    for spec in (SPEC, SPEC.with_dynamics(PER_STEP)):
        learner = tabular(name)
        state = learner.begin(Context(spec, 100), np.random.default_rng(0))
        state.recommendation.act(0, 0)
        if name in ("ucbvi", "obi", "pucb"):
            assert np.allclose(state.values, np.arange(4, -1, -1)[:, None])
        if name == "po":
            assert np.allclose(state.policy, 0.5) and not state.values.any()


@pytest.mark.parametrize("name", TABULAR)
def test_learning_is_a_function(name: str) -> None:
    learner = tabular(name)
    state = learner.begin(Context(SPEC, 100), np.random.default_rng(0))
    given = release(learner.ask(state))
    policy, values = state.policy.copy(), state.values.copy()
    one, two = learner.learn(state, given), learner.learn(state, given)
    assert np.array_equal(one.policy, two.policy) and np.array_equal(one.values, two.values)
    assert np.array_equal(state.policy, policy) and np.array_equal(state.values, values) and state.users == 0
    assert one.users == 10


@pytest.mark.parametrize("name", TABULAR)
def test_a_learner_travels_between_processes(name: str) -> None:
    learner = tabular(name)
    copy = pickle.loads(pickle.dumps(learner))
    for one in (learner, copy):
        assert one.begin(Context(SPEC, 100), np.random.default_rng(3)).policy.shape == (4, 3, 2)


def test_posterior_samples_differ_from_luck_to_luck() -> None:
    learner = tabular("psrl")
    policies = {
        learner.begin(Context(Spec(4, 3, 5), 9), np.random.default_rng(seed)).policy.tobytes() for seed in range(5)
    }
    assert len(policies) == 5


def test_every_plan_has_a_name_of_its_own() -> None:
    """Compiled loops are kept under it; the same name for two plans would find the wrong one."""
    forms = [tabular("ucbvi", bonus=b) for b in ("tight", "private", "hoeffding", "bernstein", "dp-bernstein")]
    forms += [
        tabular("obi", bonus="paper"),
        tabular("psrl"),
        tabular("psrl", posterior="paper"),
        tabular("po"),
        tabular("pucb", bonus="paper"),
    ]
    assert len({form.plan.__name__ for form in forms}) == len(forms)


def test_releases_about_something_else_are_refused() -> None:
    learner = tabular("ucbvi")
    state = learner.begin(Context(SPEC, 100), np.random.default_rng(0))
    asked = learner.ask(state)
    with pytest.raises(InvalidInput, match="must be about"):
        learner.learn(state, release(CountQuestion(SPEC.with_dynamics(PER_STEP))))
    with refused("release-of-other-objective"):
        learner.learn(state, release(asked.having(objective="cost")))
    with refused("not-a-whole-number: users of a release"):
        learner.learn(learner.learn(state, release(asked, users=10)), release(asked, users=9))


def test_squares_are_needed_only_where_rewards_are_not_bits() -> None:
    learner = tabular("psrl", posterior="paper")
    state = learner.begin(Context(SPEC, 100), np.random.default_rng(0))
    bits = CountQuestion(SPEC, last=DROPPED)
    learner.learn(state, release(bits))
    with pytest.raises(InvalidInput, match="squares"):
        learner.learn(state, release(bits.having(levels=4)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"users": 0}, "not-a-whole-number: users"),
        ({"users": 1e30}, "not-a-whole-number: users"),
        ({"failure": 0.0}, "not-positive: failure"),
        ({"failure": 1.5}, "out-of-range: failure"),
        ({"bonus_scale": -1.0}, "bonus-scale-negative"),
        ({"bonus_scale": float("nan")}, "not-a-number: bonus_scale"),
    ],
)
def test_contexts_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with refused(message):
        Context(**{"spec": SPEC, "users": 100, **changes})


def test_options_that_make_no_sense() -> None:
    with refused("unknown-name: learner"):
        learners.make("ucbv")
    with refused("unknown-name: bonus"):
        learners.make("ucbvi", bonus="bernstien")
    with pytest.raises(UnknownName, match="objective"):
        learners.make("po", objective="rewrad-ish")
    with refused("alpha-not-above-one"):
        learners.make("obi", alpha=1)
    with refused("learner-options"):
        learners.make("pucb", objective="cost")


def test_a_learner_of_ones_own_has_a_name() -> None:
    def build(bonus: str = "hoeffding") -> Any:
        """Mine.

        And more.
        """
        return learners.make("ucbvi", bonus=bonus)

    try:
        learners.register("mine")(build)
        assert "mine" in learners.names() and learners.listing("mine").description == "Mine."
        assert learners.make("mine", bonus="private").name == "ucbvi"
        with refused("learner-options"):
            learners.make("mine", bonsu="private")
        with pytest.raises(TypeError, match="unhashable"):  # a mistake inside a builder is no wrong option
            learners.register("broken")(lambda: {[]: 1})
            learners.make("broken")
        with refused("learner-name-taken"):
            learners.register("mine")(build)
    finally:
        _LISTINGS.pop("mine", None)
        _LISTINGS.pop("broken", None)
    assert set(TABULAR) <= set(learners.names())


@pytest.mark.parametrize("name", ["ucbvi", "po", "obi", "psrl", "pucb", "ucrl-vtr", "apvi", "vapvi", "pevi"])
def test_every_learner_speaks_the_one_protocol(name: str) -> None:
    """begin(context, rng), ask(state), learn(state, release), and no dialect of it."""
    options: dict[str, Any] = {"features": np.ones((2, 2, 1))} if name in ("vapvi", "pevi") else {}
    if name == "apvi":
        options = {"knowledge": Knowledge.declared(SPEC)}
    learner = learners.make(name, **options)
    words = {verb: list(inspect.signature(getattr(learner, verb)).parameters) for verb in ("begin", "ask", "learn")}
    assert words == {"begin": ["context", "rng"], "ask": ["state"], "learn": ["state", "release"]}
