"""Our own learners keep what we ask of other people's, and the suite notices one that does not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from confide.lab.testing import LearnerConformance
from confide.learning import learners
from confide.learning.learners import Learner, TabularLearner
from confide.learning.learners.learner import State
from confide.protocol.releases import CountRelease

# Learners from logs need public tables or features, and learn from one release; these learn online, from counts alone.
ONLINE = ("obi", "po", "psrl", "pucb", "ucbvi")
TABULAR = [name for name in ONLINE if isinstance(learners.make(name), TabularLearner)]


@pytest.mark.parametrize("as_printed", [False, True], ids=["ours", "paper"])
@pytest.mark.parametrize("name", TABULAR)
class TestOurLearners(LearnerConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str, as_printed: bool) -> None:
        self.name, self.options = name, learners.listing(name).paper if as_printed else {}

    def make(self) -> Learner:
        return learners.make(self.name, **self.options)


class Wrapped:
    """A learner of ours, one of whose verbs is broken."""

    def __init__(self) -> None:
        self.inner = learners.make("ucbvi")
        self.name = "wrapped"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Stubborn(Wrapped):
    def learn(self, state: State, release: CountRelease) -> State:
        return state


class Careless(Wrapped):
    def learn(self, state: State, release: CountRelease) -> State:
        after: State = self.inner.learn(state, release)
        return replace(after, policy=after.policy + release.counts.visits.mean())


class Lazy(Wrapped):
    def learn(self, state: State, release: CountRelease) -> State:
        after: State = self.inner.learn(state, release)
        state.policy[:] = after.policy
        return after


class Moody(Wrapped):
    def learn(self, state: State, release: CountRelease) -> State:
        luck = np.random.default_rng()
        return replace(state, policy=luck.dirichlet(np.ones(state.policy.shape[-1]), size=state.policy.shape[:-1]))


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Stubborn, "test_learns_a_world_of_which_everything_is_told"),
        (Careless, "test_survives_any_noise"),
        (Lazy, "test_the_same_luck_learns_the_same"),
        (Moody, "test_the_same_luck_learns_the_same"),
    ],
)
def test_a_broken_learner_is_noticed(kind: type[Wrapped], test: str) -> None:
    class Suite(LearnerConformance):
        def make(self) -> Learner:
            return kind()  # type: ignore[return-value]

    with pytest.raises((AssertionError, ValueError)):
        getattr(Suite(), test)()


ALONE = """
import sys
for name in ("anyio", "starlette", "uvicorn", "sqlalchemy", "psycopg", "prometheus_client"):
    sys.modules[name] = None
import confide.lab.testing, confide.lab.audit
"""


def test_suites_and_audits_need_nothing_that_only_servers_do() -> None:
    """Researchers install `confide[full]`, which has none of it."""
    found = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
