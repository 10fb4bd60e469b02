"""A rehearsal simulates exactly a contract, with users who keep arriving while batches wait."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide import Guarantee, Joint, Local, Shuffle, simulate
from confide.lab.environments import make
from confide.lab.staging.rehearsing import SECONDS, batches_of, rehearse
from confide.protocol.defaults import ENDLESS
from confide.service.collector.founding import make_service
from tests.refusals import refused

WORLD = "riverswim/3"


def test_under_local_trust_it_is_the_simulation(tmp_path: Path) -> None:
    contract = make_service(tmp_path / "tea", make(WORLD).spec, Local(4.0), 2000).contract()
    found = rehearse(contract, WORLD, seeds=3)
    assert found.regret.tolist() == simulate("ucbvi", WORLD, Local(4.0), 2000, 3).regret[:, -1].tolist()
    assert found.at_random > 0 and found.needed > 0 and found.users == 2000


@pytest.mark.parametrize("promise", [Joint(1.0, 1e-6), Shuffle(4.0, 1e-6)], ids=str)
def test_whoever_takes_a_ticket_follows_what_was_published_before(tmp_path: Path, promise: Joint | Shuffle) -> None:
    """User by user, by the clock."""
    people, days = 3000, 2.0
    contract = make_service(tmp_path / "tea", make(WORLD).spec, promise, people).contract()
    (batches, full), about = batches_of(contract, days), contract.intermediary
    assert about is not None
    expected: list[list[int]] = []
    published: list[float] = []
    batch, place = 1, 0
    for user in range(people):
        now = user * days * SECONDS / people
        if place == 0:
            expected.append([])
        expected[-1].append(sum(each <= now + 1e-6 for each in published))
        place += 1
        if place == contract.tickets(batch):
            published.append((user + 1) * days * SECONDS / people + about.deadline + about.publication)
            batch, place = batch + 1, 0
    told = [[group.before for group in groups for _ in range(group.users)] for groups in batches]
    assert told == expected and full == batch - 1
    assert expected[-1][-1] > 3


def test_whoever_waits_longer_loses_more(tmp_path: Path) -> None:
    contract = make_service(tmp_path / "tea", make(WORLD).spec, Joint(4.0, 1e-6), 3000).contract()
    slow, quick = (rehearse(contract, WORLD, 5, days=days).regret.mean() for days in (0.05, 300.0))
    assert quick < slow < np.inf


def test_a_world_of_other_sizes_is_refused(tmp_path: Path) -> None:
    contract = make_service(tmp_path / "tea", make(WORLD).spec, Local(4.0), 100).contract()
    with refused("rehearsal-world-sizes"):
        rehearse(contract, "riverswim/4")


@pytest.mark.parametrize("promise", [Local(4.0), Joint(4.0, 1e-6), Shuffle(4.0, 1e-6)], ids=str)
def test_a_service_without_an_end_is_rehearsed_with_those_who_are_expected(tmp_path: Path, promise: Guarantee) -> None:
    spec = make(WORLD).spec
    contract = make_service(tmp_path / "tea", spec, promise, 3000, endless=True).contract()
    other = make_service(tmp_path / "chai", spec, promise, 3000).contract()
    assert contract.expected == other.expected == other.design.schedule.users == 3000
    assert contract.design.schedule.users == ENDLESS and len(contract.ends) > 2 * len(other.ends)
    assert contract.ends[:3] == other.ends[:3]
    found = rehearse(contract, WORLD, seeds=2)
    assert found.users == 3000 and np.isfinite(found.regret).all()
    if promise.trust == "local":
        assert found.regret.tolist() == simulate("ucbvi", WORLD, promise, 3000, 2, expected=3000).regret[:, -1].tolist()
