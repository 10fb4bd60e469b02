"""One set of choices: what is simulated is what is deployed."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from confide import Guarantee, Joint, Local, NoPrivacy, Shuffle
from confide.lab.environments import make as world
from confide.lab.simulation import prepare
from confide.mdp import Spec
from confide.privacy import Schedule
from confide.protocol import accepted
from confide.protocol.defaults import abilities, growth_for, mixing_for, request_for, schedule_for
from confide.protocol.design import make
from confide.protocol.kinds import CountQuestion
from confide.service.collector.founding import make_service

PROMISES = (Local(1.0), Local(4.0), Local(1.0, 1e-6), Local(rho=0.5), Joint(1.0, 1e-6), Joint(1.0), Shuffle(1.0, 1e-6))


@pytest.mark.parametrize(
    "address, people", [("riverswim/6", 100_000), ("chain/5", 3_000), ("random/8x3?seed=15", 77_777)]
)
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_a_service_deploys_what_a_simulation_shows(
    tmp_path: Path, promise: Guarantee, address: str, people: int
) -> None:
    """The same fingerprint: question, mechanism, noise, schedule and shufflers are the same."""
    contract = make_service(tmp_path / "tea", world(address).spec, promise, people).contract()
    simulated = prepare("ucbvi", address, promise, people).design
    assert contract.design.digest == simulated.digest
    assert contract.design.schedule.users == people


def test_tickets_of_a_widening_shuffler_follow_the_size_of_the_batch(tmp_path: Path) -> None:
    """A quarter more than a batch needs; and a last batch that is short is no round."""
    people = 48_123
    contract = make_service(tmp_path / "tea", Spec(2, 2, 3), Shuffle(1.0, 1e-6), people).contract()
    mixing = contract.design.mixing
    assert mixing is not None and mixing.widening
    sizes = [after - before for before, after in zip((0, *contract.ends), contract.ends, strict=False)]
    assert sizes[:16] == [mixing.batch] * 16 and sizes[16] == 2 * mixing.batch and len(sizes) > 24
    assert all(size == mixing.batch << contract.level(number) for number, size in enumerate(sizes, 1))
    first = contract.tickets(1)
    assert first == int(1.25 * mixing.batch + 0.5)
    assert [contract.tickets(number) for number in (16, 17, 25)] == [first, 2 * first, 4 * first]
    assert contract.ends[-1] <= people < contract.ends[-1] + 2 * sizes[-1]


@pytest.mark.parametrize("people", [10_000, 48_123, 10**6])
def test_everybody_who_takes_a_ticket_of_a_widening_shuffler_is_in_a_full_batch(tmp_path: Path, people: int) -> None:
    """Tickets beyond a batch are counted: some batches are filled by every user together, but for what rounding leaves over."""
    contract = make_service(tmp_path / "tea", Spec(3, 2, 5), Shuffle(1.0, 1e-6), people).contract()
    tickets = [contract.tickets(number) for number in range(1, len(contract.ends) + 1)]
    filled = [total for total in itertools.accumulate(tickets) if total <= people]
    assert people - filled[-1] < 0.01 * people and len(filled) >= 16


def test_one_half_is_honest_unless_something_else_is_said() -> None:
    spec, promise = Spec(3, 2, 4), Shuffle(1.0, 1e-6)
    assert [mixing_for(promise, spec, 10_000, said).honest for said in ({}, {"honest": 1.0}, {"honest": None})] == [
        0.5,
        1.0,
        0.5,
    ]
    # Two honest people at least are in a batch, whatever share they are.
    assert mixing_for(promise, spec, 300, {"honest": 0.1}, widening=False).batch == 20


def test_what_devices_can_do_decides_what_they_are_asked() -> None:
    """Pages do not count under a budget; where that would be chosen they are asked otherwise."""
    question, promise = CountQuestion(Spec(6, 2, 20)), Local(20.0, 0.1)
    assert make(request_for(question, promise, 1000, devices="any")).question.kind == "budgeted"
    told = make(request_for(question, promise, 1000))
    assert told.question.kind != "budgeted" and accepted.row_of(told) in accepted.rows_in_pages()
    assert abilities("local") < abilities("local", "any")
    assert make(request_for(question, promise, 1000, budget=30)).question.kind == "budgeted"


def test_default_schedules() -> None:
    river, small = Spec(6, 2, 20), Spec(2, 2, 2)
    # D = sqrt(3 * 40), mu = 0.2367, and 200 releases make 1.66 of it: 76.7 a count, of which a person adds 20/12.
    assert schedule_for(Joint(1.0, 1e-6), "tight", river, 50_000) == Schedule.widening(50_000, 46)
    assert schedule_for(Joint(1.0, 1e-6), "tight", river, 50_000).releases == 60
    assert schedule_for(Joint(1.0, 1e-6), "tight", Spec(100, 4, 20), 10**6).releases < 100
    assert schedule_for(Joint(1.0), "sound", river, 50_000) == Schedule.every(50_000)
    assert schedule_for(Local(1.0), "tight", small, 10**8) == Schedule.growth(10**8, 1.01)
    assert schedule_for(NoPrivacy(), "tight", small, 1000) == Schedule.every(1000)
    assert schedule_for(NoPrivacy(), "tight", small, 1000, scouts=True) == Schedule.exploring(1000, 1.05)


def test_large_worlds_have_fewer_releases() -> None:
    assert growth_for(Spec(6, 2, 20), 10**5) == growth_for(Spec(100, 4, 20), 10**5) == 1.01
    large = Schedule.growth(10**5, growth_for(Spec(300, 4, 20), 10**5))
    assert 150 < large.releases < 300 and growth_for(Spec(3000, 4, 20), 10**5) == 1.2
