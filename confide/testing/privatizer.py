"""What everything that stands in the wall keeps: on a device, and at a curator."""

from __future__ import annotations

import numpy as np

from ..errors import UnsafeNoise
from ..mdp import Spec
from ..mechanisms.noise import ReplayableNoise, SecureNoise
from ..privacy import keeps
from ..privatizers import PAPER, CentralPrivatizer, LocalPrivatizer
from ..releases import CountQuestion, CountRelease, Counts, Report, unpack
from ..statistics import count
from ..trajectories import Trajectory

PEOPLE = 60
FAILURE = 1e-3


def made_up(spec: Spec, people: int, seed: int) -> list[Trajectory]:
    """Episodes of people who do not exist, some of whom stop early; rewards are 0 or 1, so that nothing is rounded."""
    luck, episodes = np.random.default_rng(seed), []
    for person in range(people):
        steps = spec.horizon if person % 4 else max(1, spec.horizon // 2)
        states, actions = luck.integers(spec.states, size=steps + 1), luck.integers(spec.actions, size=steps)
        episodes.append(Trajectory.checked(spec, states, actions, luck.integers(2, size=steps).astype(float)))
    return episodes


def true_counts(question: CountQuestion, episodes: list[Trajectory]) -> Counts:
    """What a release about these people estimates."""
    cells = np.zeros(question.cells)
    for episode in episodes:
        levels = (episode.rewards * question.levels).astype(np.int64)
        cells += count(question, episode, levels) / question.resolution
    return unpack(question, cells)


def check_release(release: CountRelease, question: CountQuestion, episodes: list[Trajectory]) -> None:
    """Counts within their radius of the truth, about the right people."""
    assert release.users == len(episodes) and release.question == question
    true = true_counts(question, episodes)
    for kind in Counts._fields:
        found, right, radius = getattr(release.counts, kind), getattr(true, kind), getattr(release.radius, kind)
        assert found.shape == right.shape and np.isfinite(found).all()
        worst = float(np.abs(found - right).max())
        assert worst <= radius, f"{kind} are off by {worst:.3g}, more than their radius {radius:.3g}"


class LocalPrivatizerConformance:
    """For what runs on a device. Inherit, and return yours from `make`."""

    def make(self) -> LocalPrivatizer:
        """The privatizer, for a problem of a few states."""
        raise NotImplementedError("return your privatizer from make()")

    def test_keeps_the_promise_it_was_asked_for(self) -> None:
        """Except in `paper` calibration, whose certificate states the difference."""
        privatizer = self.make()
        certificate = privatizer.certificate("opendp")
        assert certificate.guarantee == privatizer.guarantee, "certificate and guarantee must not disagree"
        if privatizer.calibration == PAPER:
            assert certificate.promises[0].nominal == privatizer.asked
        else:
            assert keeps(privatizer.act.loss, privatizer.asked), "the loss exceeds what was asked for"

    def test_refuses_noise_that_can_be_replayed(self) -> None:
        """It can be subtracted; only simulated people may be noised with it."""
        privatizer = self.make()
        person = made_up(privatizer.question.spec, 1, seed=1)[0]
        try:
            privatizer.report(person, ReplayableNoise(1))
        except UnsafeNoise:
            return
        raise AssertionError("replayable noise on a real person must be refused with UnsafeNoise")

    def test_a_report_survives_the_way_to_the_server(self) -> None:
        """As bytes, and drawn with secure noise unless told otherwise."""
        privatizer = self.make()
        person = made_up(privatizer.question.spec, 1, seed=2)[0]
        sent = privatizer.report(person)
        arrived = Report.from_bytes(sent.to_bytes())
        assert arrived.question == privatizer.question.digest and arrived.mechanism == privatizer.mechanism.describe()
        assert np.array_equal(arrived.cells, sent.cells) and (arrived.grid, arrived.step) == (sent.grid, sent.step)
        privatizer.empty_sum().add(arrived)

    def test_two_reports_of_one_person_differ(self) -> None:
        """Noise is drawn anew: not from the episode, not from a seed."""
        privatizer, noise = self.make(), SecureNoise()
        person = made_up(privatizer.question.spec, 1, seed=3)[0]
        several = {privatizer.report(person, noise).to_bytes() for _ in range(64)}
        assert len(several) > 1, "64 reports of one person were the same"

    def test_a_release_is_within_its_radius(self) -> None:
        """For people whose counts are known because nobody is real."""
        privatizer, noise = self.make(), ReplayableNoise(4)
        people, summed = made_up(privatizer.question.spec, PEOPLE, seed=4), privatizer.empty_sum()
        for person in people:
            summed.add(privatizer.report(person, noise, simulated=True))
        check_release(privatizer.release(summed, FAILURE), privatizer.question, people)


class CentralPrivatizerConformance:
    """For what runs at a trusted curator. Inherit, and return one for some dozens of people from `make`."""

    def make(self) -> CentralPrivatizer:
        """The privatizer, for a problem of a few states."""
        raise NotImplementedError("return your privatizer from make()")

    def test_keeps_the_promise_it_was_asked_for(self) -> None:
        """For all releases together, and the certificate says for how many."""
        privatizer = self.make()
        certificate = privatizer.certificate("opendp")
        assert certificate.guarantee == privatizer.guarantee, "certificate and guarantee must not disagree"
        assert all(row["schedule"] == privatizer.schedule.describe() for row in certificate.mechanisms)
        if privatizer.calibration != PAPER:
            assert keeps(privatizer.act.loss, privatizer.asked), "the loss exceeds what was asked for"

    def test_refuses_noise_that_can_be_replayed(self) -> None:
        """It can be subtracted; only simulated people may be noised with it."""
        privatizer = self.make()
        try:
            privatizer.answer(privatizer.begin(), [], FAILURE, ReplayableNoise(1))
        except UnsafeNoise:
            return
        raise AssertionError("replayable noise on real people must be refused with UnsafeNoise")

    def test_what_it_remembers_shows_nothing(self) -> None:
        """A repr ends up in logs."""
        privatizer = self.make()
        people = made_up(privatizer.question.spec, int(privatizer.schedule.ends[0]), seed=2)
        progress, _ = privatizer.answer(privatizer.begin(), people, FAILURE)
        assert "array" not in repr(progress), "the repr of progress must not show its state"

    def test_releases_are_within_their_radius(self) -> None:
        """Each about everybody so far."""
        privatizer, noise = self.make(), ReplayableNoise(3)
        schedule, progress = privatizer.schedule, privatizer.begin()
        people = made_up(privatizer.question.spec, schedule.users, seed=3)
        for end in schedule.ends:
            batch = people[progress.users : end]
            progress, release = privatizer.answer(progress, batch, FAILURE, noise, simulated=True)
            check_release(release, privatizer.question, people[:end])
