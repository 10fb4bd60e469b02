"""The conformance suite of designs, whatever statistic and trust: on devices, in aggregates, and in their bytes."""

from __future__ import annotations

import numpy as np

from ...data.privatizers import open_aggregate, respond
from ...data.statistics import count
from ...data.trajectories import Trajectory
from ...errors import FormatError, UnsafeNoise
from ...mdp import Spec
from ...mechanisms.noise import ReplayableNoise, SecureNoise
from ...privacy import keeps
from ...protocol.design import PAPER, Design
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.counts import unpack
from ...protocol.releases import CountRelease, Counts, Report
from ...protocol.releases.report import check_range


def random_episodes(spec: Spec, people: int, seed: int) -> list[Trajectory]:
    """Episodes of people who do not exist, drawn at random, some of whom stop early; rewards are 0 or 1, so that nothing is
    rounded."""
    rng, episodes = np.random.default_rng(seed), []
    for person in range(people):
        steps = spec.horizon if person % 4 else max(1, spec.horizon // 2)
        states, actions = rng.integers(spec.states, size=steps + 1), rng.integers(spec.actions, size=steps)
        episodes.append(Trajectory.checked(spec, states, actions, rng.integers(2, size=steps).astype(float)))
    return episodes


def true_counts(question: CountQuestion, episodes: list[Trajectory]) -> Counts:
    """The exact counts that a release about these people estimates."""
    cells = np.zeros(question.cells)
    for episode in episodes:
        levels = (episode.rewards * question.levels).astype(np.int64)
        cells += count(question, episode, levels) / question.resolution
    return unpack(question, cells)


def check_release(release: CountRelease, episodes: list[Trajectory]) -> None:
    """Check that counts are within their radius of the truth, and about the right people."""
    assert release.users == len(episodes)
    if release.counts.people.size:  # who was asked about a pair, no episode tells
        most, radius = release.counts.people, release.radius.visits
        others = 0 if release.returned is None else release.returned.people
        assert most.sum() + others == len(episodes), "every user reports about one pair, or the return"
        assert (release.counts.visits > -radius).all() and (release.counts.visits < most + radius).all()
        return
    true = true_counts(release.question, episodes)
    counts, radii = release.counts, release.radius
    for kind, estimated, exact, radius in (
        ("visits", counts.visits, true.visits, radii.visits),
        ("rewards", counts.rewards, true.rewards, radii.rewards),
        ("squares", counts.squares, true.squares, radii.squares),
        ("transitions", counts.transitions, true.transitions, radii.transitions),
    ):
        assert estimated.shape == exact.shape and np.isfinite(estimated).all()
        worst = float(np.abs(estimated - exact).max())
        assert worst <= radius, f"{kind} are off by {worst:.3g}, more than their radius {radius:.3g}"


def sends_one_report(design: Design) -> bool:
    """Whether a person's message is one report: not an episode, and not several reports to shufflers."""
    return len(design.devices) == 1 and design.mixing is None


class DesignConformance:
    """Tests of a design about counts. Inherit, and return one from `make`, for some dozens of people and a few states."""

    def make(self) -> Design:
        """The design."""
        raise NotImplementedError("return your design from make()")

    def test_keeps_the_promise_it_was_asked_for(self) -> None:
        """The guarantee is kept for all releases together, and the certificate says the same."""
        design = self.make()
        certificate = design.certificate("opendp")
        assert certificate.guarantee == design.guarantee, "certificate and guarantee must not disagree"
        if design.calibration == PAPER:
            assert certificate.promises[0].nominal == design.requested
        else:
            assert keeps(design.act.loss, design.requested), "the loss exceeds the requested guarantee"

    def test_is_made_again_from_its_bytes(self) -> None:
        """With the same guarantee, computed anew, and the same fingerprint."""
        design = self.make()
        again = Design.from_bytes(design.to_bytes())
        assert again.to_bytes() == design.to_bytes() and again.digest == design.digest
        assert again.guarantee == design.guarantee and again.act.sensitivity == design.act.sensitivity

    def test_refuses_noise_that_can_be_replayed(self) -> None:
        """It can be subtracted; only simulated people may be noised with it."""
        design, person = self.make(), random_episodes(self.make().question.spec, 1, seed=1)[0]
        try:
            message = respond(design, None, person, ReplayableNoise(1))
            open_aggregate(design, ReplayableNoise(1)).take(message)
        except UnsafeNoise:
            return
        raise AssertionError("replayable noise on real people must be refused with UnsafeNoise")

    def test_reports_survive_the_way(self) -> None:
        """Reports are bytes within limits, and the aggregate takes them; what is no report is refused and changes nothing."""
        design, noise = self.make(), SecureNoise()
        if not sends_one_report(design):
            return  # messages are episodes, or go to shufflers
        for person in random_episodes(design.question.spec, 4, seed=2):
            sent = respond(design, None, person, noise)
            raw = sent.to_bytes(design)
            arrived = Report.from_bytes(raw, design)
            assert np.array_equal(arrived.cells, sent.cells) and arrived.row == sent.row
            check_range(design, arrived.cells, 1, row=arrived.row)
            aggregate = open_aggregate(design)
            aggregate.take(raw)
            assert aggregate.users == 1
            for bad in (b"", raw[:-1], raw + b"x", b"x" + raw[1:]):
                try:
                    aggregate.take(bad)
                except FormatError:
                    continue
                raise AssertionError("bytes that are no report must be refused with FormatError")
            assert aggregate.users == 1

    def test_two_reports_of_one_person_differ(self) -> None:
        """Noise is drawn anew: not from the episode, not from a seed."""
        design, noise = self.make(), SecureNoise()
        if not sends_one_report(design):
            return
        person = random_episodes(design.question.spec, 1, seed=3)[0]
        reports = [respond(design, None, person, noise) for _ in range(64)]
        assert len({report.to_bytes(design) for report in reports}) > 1, "64 reports of one person were the same"

    def test_two_releases_about_the_same_people_differ(self) -> None:
        """A curator draws its noise anew, too."""
        design = self.make()
        if design.devices or not design.requested.private:
            return  # devices draw it, or none does
        people, releases = random_episodes(design.question.spec, int(design.schedule.ends[0]), seed=3), set()
        for _ in range(4):
            aggregate = open_aggregate(design, SecureNoise())
            for person in people:
                aggregate.take(person)
            releases.add(aggregate.close().counts.transitions.tobytes())
        assert len(releases) > 1, "four releases about the same people were the same"

    def test_what_a_book_remembers_shows_nothing(self) -> None:
        """A repr ends up in logs."""
        design = self.make()
        aggregate = open_aggregate(design, SecureNoise())
        for person in random_episodes(design.question.spec, 2, seed=2):
            aggregate.take(respond(design, None, person))
        assert "array" not in repr(aggregate), "the repr of an aggregate must not show its sums"

    def test_releases_are_within_their_radius(self) -> None:
        """Each about all users so far, for people whose counts are known because they are simulated."""
        design, noise = self.make(), ReplayableNoise(3)
        aggregate, people = (
            open_aggregate(design, noise, simulated=True),
            random_episodes(design.question.spec, design.schedule.users, 3),
        )
        start = 0
        for batch, end in enumerate(design.schedule.ends.tolist()):
            for person in people[start:end]:
                aggregate.take(respond(design, None, person, noise, batch=batch, simulated=True))
            check_release(aggregate.close(), people[:end])
            start = end
