"""What people lose in a service is what `simulate` says they lose: the law of regret, over the web application itself."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from confide import Local, simulate
from confide.lab.environments import make
from confide.lab.staging import visit
from confide.lab.staging.visits import Visitors
from confide.learning.planning import optimal_value, policy_value
from confide.mdp import policies
from confide.privacy import Schedule
from confide.service.collector.app import Collector
from confide.service.collector.founding import make_service
from tests.service.collector.services import wait_for

from .inside import Inside, inside

pytestmark = pytest.mark.service
WORLD, HORIZON, EPSILON, PEOPLE, ROUNDS = "riverswim/3", 6, 8.0, 160, 8
RUNS, DRAWS = 24, 1500
FEW, FEW_EPSILON = 30, 4.0
FALSE_ALARM = 1e-6


@lru_cache
def law(
    epsilon: float, draws: int = DRAWS, people: int = PEOPLE, schedule: str | None = f"batches:{ROUNDS}"
) -> np.ndarray:
    """Regrets that `simulate` draws, in order."""
    result = simulate("ucbvi", WORLD, Local(epsilon), people, draws, horizon=HORIZON, schedule=schedule)
    return np.sort(np.asarray(result.regret)[:, -1])


def fits(regrets: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether the greatest distance between both distribution functions is likely: Dvoretzky, Kiefer, Wolfowitz and Massart,
    once for each side, half the false-alarm rate each."""
    reach = sum(math.sqrt(math.log(4 / FALSE_ALARM) / (2 * many)) for many in (len(regrets), len(drawn)))
    grid = np.concatenate([regrets, drawn])
    ours, theirs = (np.searchsorted(np.sort(one), grid, side="right") / len(one) for one in (regrets, drawn))
    return bool(np.abs(ours - theirs).max() <= reach)


def regret(collector: Collector, transport: Inside, seed: int) -> float:
    """What every user lost by following the policy of their round, once all came."""
    crowd = Visitors(transport.url, WORLD, transport=transport)
    world = make(WORLD, HORIZON)
    best, lost = optimal_value(world.model), 0.0
    for number, each in enumerate(np.diff(collector.contract.ends, prepend=0).tolist(), 1):
        wait_for(lambda number=number: collector.current == number)
        head = collector.publisher.current.head
        mixture = policies.from_bytes(collector.store.policy(head.policy), world.spec)
        lost += each * (best - sum(policy_value(world.model, policy) for policy in mixture) / len(mixture))
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


def test_so_it_is_with_what_a_small_service_has_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round after every person; pairs are drawn by the law of the round, and one device in ten reports its return."""
    spec, regrets = make(WORLD, HORIZON).spec, []
    for run in range(RUNS):
        folder = make_service(tmp_path / str(run), spec, Local(FEW_EPSILON), FEW)
        design = folder.contract().design
        assert design.question.kind == "asked_return" and design.schedule.releases == FEW
        with inside(folder.path, monkeypatch) as (collector, transport):
            regrets.append(regret(collector, transport, run))
    assert fits(np.array(regrets), law(FEW_EPSILON, DRAWS // 4, FEW, None)), sorted(regrets)


def test_a_quarter_of_epsilon_or_a_service_that_learns_nothing_would_be_noticed() -> None:
    """By as many runs; these are replayable, so it is the same every time."""
    drawn = law(EPSILON)
    assert not fits(law(EPSILON / 4, RUNS), drawn)
    assert not fits(np.full(RUNS, drawn.max()), drawn)
    assert fits(drawn[:: DRAWS // RUNS][:RUNS], drawn)
