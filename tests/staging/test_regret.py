"""What people lose in a service is what `simulate` says they lose: the law of regret, over the web application itself."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from confide import Local, simulate
from confide.collector.app import Collector
from confide.collector.founding import make_service
from confide.environments import make
from confide.mdp import Policy
from confide.planning import optimal_value, policy_value
from confide.privacy import Schedule
from confide.staging import visit
from confide.staging.visits import Visitors
from tests.collector.services import wait_for

from .inside import Inside, inside

pytestmark = pytest.mark.service
WORLD, HORIZON, EPSILON, PEOPLE, ROUNDS = "riverswim/3", 6, 8.0, 160, 8
RUNS, DRAWS = 24, 1500
FALSE_ALARM = 1e-6


@lru_cache
def law(epsilon: float, draws: int = DRAWS) -> np.ndarray:
    """Regrets that `simulate` draws, in order."""
    result = simulate("ucbvi", WORLD, Local(epsilon), PEOPLE, draws, horizon=HORIZON, schedule=f"batches:{ROUNDS}")
    return np.sort(np.asarray(result.regret)[:, -1])


def fits(regrets: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether the greatest distance between both distribution functions is likely: Dvoretzky, Kiefer, Wolfowitz and Massart,
    once for each side, half the false-alarm rate each."""
    reach = sum(math.sqrt(math.log(4 / FALSE_ALARM) / (2 * many)) for many in (len(regrets), len(drawn)))
    grid = np.concatenate([regrets, drawn])
    ours, theirs = (np.searchsorted(np.sort(one), grid, side="right") / len(one) for one in (regrets, drawn))
    return bool(np.abs(ours - theirs).max() <= reach)


def regret(collector: Collector, transport: Inside, seed: int) -> float:
    """What everybody lost by following the policy of their round, once all came."""
    crowd = Visitors(transport.url, WORLD, transport=transport)
    world, each = make(WORLD, HORIZON), PEOPLE // ROUNDS
    best, lost = optimal_value(world.model), 0.0
    for number in range(1, ROUNDS + 1):
        wait_for(lambda number=number: collector.current == number)
        head = collector.publisher.current.head
        lost += each * (
            best - policy_value(world.model, Policy.from_bytes(collector.store.policy(head.policy), world.spec))
        )
        came = visit(transport.url, WORLD, each, seed=1000 * seed + number, visitors=crowd, workers=4).as_json()
        assert came["counted"] == each
    return lost


def test_the_law_of_regret_is_that_of_simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, regrets = make(WORLD, HORIZON).spec, []
    for run in range(RUNS):
        when = Schedule.batches(PEOPLE, ROUNDS)
        folder = make_service(tmp_path / str(run), spec, Local(EPSILON), PEOPLE, schedule=when)
        with inside(folder.path, monkeypatch) as (collector, transport):
            regrets.append(regret(collector, transport, run))
    drawn = law(EPSILON)
    assert fits(np.array(regrets), drawn), sorted(regrets)


def test_a_quarter_of_epsilon_or_a_service_that_learns_nothing_would_be_noticed() -> None:
    """By as many runs; these are replayable, so it is the same every time."""
    drawn = law(EPSILON)
    assert not fits(law(EPSILON / 4, RUNS), drawn)
    assert not fits(np.full(RUNS, drawn.max()), drawn)
    assert fits(drawn[:: DRAWS // RUNS][:RUNS], drawn)
