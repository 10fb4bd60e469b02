"""What people lose in a service with a curator or a shuffler is what `simulate` says they lose: the law of regret, over the web
applications themselves. Run by `./run test -m slow`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Joint, Shuffle, simulate
from confide.lab.environments import make
from confide.lab.simulation.simulate import prepare
from confide.lab.staging import visit
from confide.lab.staging.visits import Visitors
from confide.learning.planning import optimal_value, policy_value
from confide.mdp import policies
from confide.privacy import Guarantee, Schedule
from confide.service.collector.app import Collector
from confide.service.collector.founding import make_service
from confide.service.contract.contract import Contract
from confide.service.contract.folder import Folder

from .inside import Inside, inside_both
from .test_regret import fits

pytestmark = [pytest.mark.service, pytest.mark.slow]
WORLD, HORIZON, PEOPLE, ROUNDS = "riverswim/3", 6, 48, 4
RUNS, DRAWS = 24, 1500
EACH = PEOPLE // ROUNDS
PROMISES: dict[str, Callable[[], Guarantee]] = {
    "joint": lambda: Joint(64.0, 1e-5),
    "shuffle": lambda: Shuffle(8.0, 1e-5),
}


def choices(trust: str) -> dict[str, Any]:
    if trust == "shuffle":
        return {"horizon": HORIZON, "batch": EACH, "honest": 1.0}
    return {"horizon": HORIZON, "schedule": f"batches:{ROUNDS}"}


@lru_cache
def law(trust: str) -> np.ndarray:
    """Regrets that `simulate` draws, in order."""
    result = simulate("ucbvi", WORLD, PROMISES[trust](), PEOPLE, DRAWS, **choices(trust))
    return np.sort(np.asarray(result.regret)[:, -1])


def regret(collector: Collector, transport: Inside, seed: int, closed: Callable[[int], None]) -> float:
    """What every user lost by following the policy of their round, once all came. closed: waits until a round is."""
    crowd = Visitors(transport.url, WORLD, transport=transport)
    world, lost = make(WORLD, HORIZON), 0.0
    best = optimal_value(world.model)
    for number in range(1, ROUNDS + 1):
        head = collector.publisher.current.head
        followed = policies.from_bytes(collector.store.policy(head.policy), world.spec)
        lost += EACH * (best - float(np.mean([policy_value(world.model, policy) for policy in followed])))
        came = visit(transport.url, WORLD, EACH, seed=1000 * seed + number, visitors=crowd, workers=4).as_json()
        assert (head.round, came["counted"]) == (number, EACH)
        closed(number)
    return lost


def founded(trust: str, path: Path) -> Folder:
    """A service of as many people as are simulated, whose devices draw the same noise."""
    promise, given = PROMISES[trust](), dict[str, Any](schedule=Schedule.batches(PEOPLE, ROUNDS))
    if trust == "shuffle":
        given = {"batch": EACH, "honest": 1.0, "between": {"tickets": EACH}}
    folder = make_service(path, make(WORLD, HORIZON).spec, promise, PEOPLE, **given)
    design = folder.contract().design
    assert prepare("ucbvi", WORLD, promise, PEOPLE, **choices(trust)).design.guarantee == design.guarantee
    return folder


def one_run(path: Path, monkeypatch: pytest.MonkeyPatch, run: int) -> float:
    """Let every user come to a service."""
    with inside_both(path, monkeypatch) as service:
        return regret(service.collector, service.transport, run, service.close_batch)


@pytest.mark.parametrize("trust", PROMISES)
def test_the_law_of_regret_is_that_of_simulate(trust: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, regrets = founded(trust, tmp_path / "first"), []
    monkeypatch.setattr(Contract, "from_bytes", lru_cache(Contract.from_bytes))  # it is the same one every time
    for run in range(RUNS):
        copy = shutil.copytree(folder.path, tmp_path / str(run))
        regrets.append(one_run(copy, monkeypatch, run))
    assert fits(np.array(regrets), law(trust)), sorted(regrets)


@pytest.mark.parametrize("trust", PROMISES)
def test_a_service_that_learns_nothing_would_be_noticed(trust: str) -> None:
    """By as many runs."""
    assert not fits(np.full(RUNS, law(trust).max()), law(trust))
