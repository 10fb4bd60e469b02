"""Our own worlds keep what we ask of other people's, and the suite notices one that does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide.lab.environments import Environment, catalogue, make
from confide.lab.environments.registry import EpisodeArrays
from confide.lab.testing import EnvironmentConformance
from confide.mdp import PER_STEP, Policy, Spec

# The largest is left out: it is an optional package, and has a file of tests to itself.
ADDRESSES = sorted(listing.example for listing in catalogue() if listing.name != "icu-sepsis")
OTHERS = ["random/3x2?seed=7", "gymnasium:CliffWalking-v1", "gymnasium:Blackjack-v1?reward_range=-1,1"]


@pytest.mark.parametrize("address", [*ADDRESSES, *OTHERS])
class TestOurEnvironments(EnvironmentConformance):
    @pytest.fixture(autouse=True)
    def choose(self, address: str) -> None:
        self.address = address

    def make(self) -> Environment:
        return make(self.address)


class TestAWorldToldStepByStep(EnvironmentConformance):
    def make(self) -> Environment:
        return make("riverswim/4", model=PER_STEP)


def jumps(policy: Policy, luck: np.random.Generator) -> EpisodeArrays:
    """Steps that do not begin where the one before ended."""
    states, actions = luck.integers(3, size=4), luck.integers(2, size=4)
    return states, actions, luck.random(4), luck.integers(3, size=4)


def test_a_broken_world_is_noticed() -> None:
    class Torn(EnvironmentConformance):
        def make(self) -> Environment:
            return Environment(Spec(3, 2, 4), interact=jumps)

    class Mislabelled(EnvironmentConformance):
        def make(self) -> Environment:
            return replace(make("riverswim/4"), address="riverswim/4?", description="no sentence")

    class Changed(EnvironmentConformance):
        def make(self) -> Environment:
            return replace(make("random/2x2?seed=1"), address="random/2x2?seed=2")

    with pytest.raises(AssertionError, match="one before ended"):
        Torn().test_episodes_fit_its_sizes()
    with pytest.raises(AssertionError, match="register"):
        Torn().test_its_address_builds_it_again()
    with pytest.raises(AssertionError, match="sentence"):
        Mislabelled().test_says_what_it_is()
    with pytest.raises(AssertionError, match="differ"):
        Changed().test_its_address_builds_it_again()
