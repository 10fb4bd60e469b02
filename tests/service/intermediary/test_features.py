"""A curator of described features: it gets observed episodes, and releases their moments with noise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate
from confide.data.statistics.moments import moment_cells
from confide.data.trajectories.observed import handed
from confide.errors import FormatError
from confide.lab.environments import make as environment
from confide.lab.staging.visits import Visitors, visit
from confide.learning.learners.linear import Linear
from confide.mdp.feature_policy import FeaturePolicy
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds.moments import MomentsQuestion
from confide.protocol.releases.release import read_release
from confide.service.contract import Contract
from confide.service.intermediary.curator import EpisodeBatches
from tests.js import featured
from tests.js.featured import LEARNER, lived
from tests.service.contract.example import contract as plain_contract

from .offices import contract_of
from .services import serving

WORLD, STEPS = "linear-bandit/2x3?seed=0", "covariates/2?seed=0"
PEOPLE, ROUNDS = 60, 3


def design_of(name: str, people: int = PEOPLE, rounds: int = ROUNDS) -> Design:
    world = environment(name).world
    assert world is not None
    question = MomentsQuestion.of(world.features, world.horizon)
    return make(Request(question, Guarantee(JOINT, 1.0, 1e-6), Schedule.batches(people, rounds)))


def made_of(name: str) -> Contract:
    design = design_of(name)
    about = contract_of(design).intermediary
    return plain_contract(design, window=contract_of(design).window, intermediary=about, learner=LEARNER)


def shuffled() -> Contract:
    """Reports with shares of noise, to a shuffler, in batches of 40 and more."""
    made = next(featured.shuffled())
    return plain_contract(made.design, window=made.window, intermediary=made.intermediary, learner=featured.LEARNER)


@pytest.mark.service
@pytest.mark.parametrize("make_contract", [partial(made_of, WORLD), shuffled], ids=["joint", "shuffle"])
def test_people_tell_what_was_observed_and_weights_are_published(
    tmp_path: Path, make_contract: Callable[[], Contract]
) -> None:
    with (
        serving(tmp_path, make_contract()) as pair,
        contextlib.closing(Visitors(pair.collector.url, WORLD)) as visitors,
    ):
        many = visitors.contract.tickets(1)
        result = visit(pair.collector.url, WORLD, many, visitors=visitors).as_json()
        assert (result["sent"], result["refused"], result["unsent"]) == (many, 0, 0)
        pair.close_batch(1)
        store = pair.collector.collector.store
        data = store.release(1)
        assert data is not None
        release = read_release(store.contract.design, data)
        assert visitors.contract.ends[0] <= release.users <= many and release.noise.transitions > 0
        head = visitors.round()
        assert head is not None and head["round"] == 2


@pytest.mark.parametrize("name", [WORLD, STEPS])
def test_a_curator_adds_up_what_it_was_handed(name: str) -> None:
    """With replayed noise, which the reference draws too, so that what differs is the sum."""
    design = design_of(name, 12, 2)
    question = design.question
    assert isinstance(question, MomentsQuestion)
    rng = np.random.default_rng(7)
    people = [lived(question, rng, question.horizon) for _ in range(6)]
    batches = EpisodeBatches(design, ReplayableNoise(1), simulated=True)
    aggregate = open_aggregate(design, ReplayableNoise(1), simulated=True)
    for person in people:
        batches.take(1, handed(person, question))
        aggregate.take(person)
    closed = batches.close(1, len(people), b"")
    release, other = read_release(design, closed.body), aggregate.close()
    assert np.array_equal(release.gram, other.gram) and np.array_equal(release.vector, other.vector)
    exact = sum(moment_cells(question, person, design.mechanism.grid) for person in people) * design.mechanism.grid
    away = question.pack(release.gram, release.vector) - exact
    # Six standard deviations in every cell: less than 1e-6.
    assert 0 < np.abs(away).max() < 6 * np.sqrt(release.noise.transitions)


def test_an_episode_of_another_form_is_refused_and_changes_nothing() -> None:
    design, other = design_of(STEPS, 12, 2), design_of(WORLD, 12, 2)
    question = other.question
    assert isinstance(question, MomentsQuestion)
    batches = EpisodeBatches(design)
    for wrong in (b"", handed(lived(question, np.random.default_rng(0), 1), question)):
        with pytest.raises(FormatError):
            batches.take(1, wrong)


def test_a_curators_releases_teach_a_policy() -> None:
    """Noise at epsilon 20, 3,000 people at random: the plan earns more than half of what can be gained."""
    from confide.lab.simulation.featured import walk
    from confide.learning.learners.linear import FeatureContext

    world = environment(WORLD).world
    assert world is not None
    question = MomentsQuestion.of(world.features, 1)
    design = make(Request(question, Guarantee(JOINT, 20.0, 1e-6), Schedule.batches(3000, 1)))
    rng, learner = np.random.default_rng(2), Linear()
    state = learner.begin(FeatureContext(question.spec, 3000, 0.1, 1.0, question=question), rng)
    batches = EpisodeBatches(design, ReplayableNoise(3), simulated=True)
    for number in range(3000):
        policy = FeaturePolicy(world.features, state.weights[number % len(state.weights)])
        batches.take(1, handed(walk(world, policy, 1, rng), question))
    release = read_release(design, batches.close(1, 3000, b"").body)
    values = [world.value(policy) for policy in learner.learn(state, release).policies]
    assert np.mean(values) > (world.best_value + world.random_value) / 2
