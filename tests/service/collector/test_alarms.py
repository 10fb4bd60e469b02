"""A round that honest devices cannot have sent: an alarm, and the policy that was sound stays."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.mdp import Policy, Spec, policies
from confide.privacy import Joint, Local, Schedule, Shuffle
from confide.protocol.design import Design
from confide.protocol.releases import Report, Sum
from confide.protocol.releases.plausibility import excess
from confide.service.collector.app import Intake
from confide.service.collector.closing import Publisher, RoundCloser
from confide.service.collector.founding import make_service
from confide.service.collector.sources import IntermediaryClient
from confide.service.collector.store import CollectorStore, Group
from confide.service.contract import Contract, Upload
from confide.service.contract.heads import Head
from tests.service.collector.services import Lessons, Service, folder_of, running
from tests.service.contract.example import contract, design, letter
from tools.hostile import DOCUMENT, header, unnoticed

PEOPLE, PAIR = 600, 3


def count(service: Service, start: int, hostile: bool) -> None:
    """A round of reports: honest ones name any category alike, as whole noise does; hostile ones all the same."""
    intake, made = service.collector.intake, service.contract
    assert intake is not None
    width = made.design.question.width
    arrivals = [intake.read(letter(made, start + one, 0 if hostile else one % width), 1) for one in range(PEOPLE // 3)]
    service.collector.store.count(arrivals)
    service.collector.closer.look()


def policy(service: Service) -> list[np.ndarray]:
    head = service.collector.publisher.current
    assert head is not None
    raw = service.collector.store.policy(head.head.policy)
    assert raw is not None
    return [one.probabilities for one in policies.from_bytes(raw, service.contract.design.question.spec)]


@pytest.mark.parametrize("first", [True, False])
def test_an_alarm_keeps_what_was_learned_before_it(tmp_path: Path, first: bool) -> None:
    made = contract(design(people=PEOPLE, rounds=3))
    with running(folder_of(tmp_path / "tea", made)) as service:
        count(service, 0, hostile=first)
        service.until_round(2)
        after_first = policy(service)
        count(service, PEOPLE, hostile=not first)
        service.until_round(3)
        raised = service.collector.store.alarm()
        assert raised is not None and raised[0] == (1 if first else 2) and "category 0 of row 0" in raised[1]
        assert np.array_equal(policy(service), after_first)
        assert first == bool(np.allclose(after_first[0], 0.5)), "chance, where no round was sound"
        page = service.get("/metrics")[1].decode()
        assert f"confide_alarm {1.0 if first else 2.0}" in page


def test_sound_rounds_raise_none(tmp_path: Path) -> None:
    made = contract(design(people=PEOPLE, rounds=3))
    with running(folder_of(tmp_path / "tea", made)) as service:
        for number in range(2):
            count(service, number * PEOPLE, hostile=False)
            service.until_round(number + 2)
        assert service.collector.store.alarm() is None and "confide_alarm 0.0" in service.get("/metrics")[1].decode()


class Scripted(Lessons):
    """Learns as always, and says another policy and another law each time: of nearly all pairs alike, whatever was learned."""

    def __init__(self, contract: Contract) -> None:
        super().__init__(contract)
        self._question, self._said = contract.design.question, 0

    def ask(self, verb: str, *given: Any) -> list[bytes]:
        answer = super().ask(verb, *given)
        if verb in ("begin", "learn"):
            self._said += 1
            spec = self._question.spec
            chance = np.full((spec.horizon, spec.states, 1), 0.9 - 0.01 * self._said)
            answer[2] = policies.to_bytes([Policy(np.concatenate([chance, 1 - chance], axis=2))])
            law = self._question.law_about(1000 + np.arange(6) * self._said)
            answer[-1] = replace(self._question, weights=law).law_bytes()
        return answer


class Pairs:
    """A service that asks about six pairs, or the return, without a network; rounds are as far from its law as a test says."""

    def __init__(self, place: Path, rounds: int) -> None:
        people = rounds * PEOPLE
        folder = make_service(
            place / "tea",
            Spec(3, 2, 4),
            Local(2.0),
            people,
            mechanism="asked-k-ary",
            schedule=Schedule.batches(people, rounds),
        )
        self.contract = folder.contract()
        self.store = CollectorStore(folder.database, self.contract)
        self.store.prepare()
        publisher = Publisher(self.store, folder)
        self.closer = RoundCloser(self.store, publisher, folder.key(self.contract), lambda seconds: None)
        self.closer._child = Scripted(self.contract)  # type: ignore[assignment]
        self.intake = Intake(self.contract, publisher.question_digests)
        self.people, self.expected = np.zeros(7), np.zeros(7)
        self.closer.step()

    def head(self) -> Head:
        signed = self.store.newest()
        assert signed is not None
        return signed.head

    def play(self, beyond: float) -> tuple[str, str | None]:
        """A round after which the pair has this many standard deviations too many reports; the policy and question after it."""
        number, family = self.head().round, self.contract.design.question
        digest = self.head().question
        assert digest is not None
        law = family.from_bytes_of_member(self.store.question(digest)).law
        self.expected += PEOPLE * law / law.sum()
        wanted = (
            bisect_right(range(PEOPLE // 2), beyond, key=lambda more: excess(self._with(more), self.expected)[PAIR]) - 1
        )
        rows = (self._with(wanted) - self.people).astype(int)
        self.people += rows
        assert rows.sum() == PEOPLE and rows.min() >= 0
        bodies = []
        for row in np.repeat(np.arange(7), rows):
            named = family.width if row < family.pairs else 2  # the bit of a return is one of two
            cells = np.eye(family.width, dtype=np.int64)[len(bodies) % named]
            report = Report(self.contract.design.digest, family.digest, cells, int(row)).to_bytes(self.contract.design)
            identity = (number * PEOPLE + len(bodies)).to_bytes(16)
            bodies.append(Upload(identity, self.contract.digest, number, report).to_bytes())
        self.store.count([self.intake.read(body, number) for body in bodies])
        self.closer.step()
        assert self.head().round == number + 1
        return self.head().policy, self.head().question

    def _with(self, more: int) -> np.ndarray:
        """Every user so far, of whom this many came in this round to the pair, and the others nearly as they should."""
        others = np.arange(7) != PAIR
        whole, left = self.people.copy(), PEOPLE - more
        whole[PAIR] += more
        for _ in range(left):
            whole[np.argmin(np.where(others, whole - self.expected, np.inf))] += 1
        return whole

    def by_chance(self) -> bool:
        """Whether people act at random."""
        raw = self.store.policy(self.head().policy)
        assert raw is not None
        return all(
            np.allclose(one.probabilities, 0.5) for one in policies.from_bytes(raw, self.contract.design.question.spec)
        )


def test_what_a_doubtful_round_taught_waits_until_the_doubt_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Pairs(tmp_path, 4)
    first = service.play(0.0)
    assert service.play(3.3) == first and "policy waits" in caplog.text and service.store.alarm() is None
    learned = service.play(0.5)
    assert learned[0] != first[0] and learned[1] != first[1] and service.store.alarm() is None
    service.play(3.3)
    assert service.head().ended and service.head().question != learned[1], "after the last round nothing waits"


def test_a_doubt_that_grows_is_an_alarm_and_nothing_learned_meanwhile_is_published(tmp_path: Path) -> None:
    service = Pairs(tmp_path, 4)
    begun = (service.head().policy, service.head().question)
    assert service.play(3.3) == begun and service.store.alarm() is None
    service.play(6.5)
    raised = service.store.alarm()
    assert raised is not None and raised[0] == 2 and service.by_chance() and service.head().question == begun[1]


@pytest.mark.parametrize("before", [0.0, 1.8])
def test_after_an_alarm_the_policy_stays_if_its_pair_was_unremarkable_when_that_was_learned(
    tmp_path: Path, before: float
) -> None:
    service = Pairs(tmp_path, 4)
    policy, _ = service.play(before)
    assert service.play(5.1)[0] == (policy if before == 0.0 else service.head().policy)
    assert service.store.alarm() is not None and service.by_chance() == (before > 0)


def extreme(many: int, made: Design) -> bytes:
    """The sum of a batch of which every user sent ones only, or, if no one did, what flips of empty reports are on average."""
    total, device = Sum.empty(made), made.devices[0]
    total.people[0] = PEOPLE
    noise = device.flip * made.question.trials
    total.cells[0] = many * made.question.trials + (PEOPLE - many) * noise
    return total.to_bytes()


def test_a_shuffled_batch_is_judged_by_its_sum(tmp_path: Path) -> None:
    folder = make_service(
        tmp_path / "tea", Spec(2, 2, 3), Shuffle(1.0, 1e-6), PEOPLE, batch=PEOPLE, window=2.0, mechanism="shuffled-bits"
    )
    made = folder.contract()
    source = IntermediaryClient(CollectorStore(folder.database, made), "http://127.0.0.1:1", b"")
    assert source.alarm(1, [Group(b"", extreme(0, made.design))]) is None
    raised = source.alarm(2, [Group(b"", extreme(PEOPLE // 2, made.design))])
    assert raised is not None and raised.round == 2 and raised.sound


def test_a_curators_release_is_not_judged(tmp_path: Path) -> None:
    """It was handed episodes, and released noisy sums: whatever is in them could have been lived."""
    folder = make_service(tmp_path / "tea", Spec(2, 2, 3), Joint(1.0, 1e-6), PEOPLE, window=2.0)
    source = IntermediaryClient(CollectorStore(folder.database, folder.contract()), "http://127.0.0.1:1", b"")
    assert source.alarm(1, [Group(b"", b"")]) is None


def test_the_page_says_how_often_an_attack_is_not_doubted_in_its_first_round() -> None:
    assert DOCUMENT.read_text(encoding="utf-8").startswith(header())
    assert unnoticed(0.1, 1000) == 0 < unnoticed(0.05, 4000) < 0.02 < 0.9 < unnoticed(0.0, 1000) < 0.99
