"""Whole runs: everything that others ever see of a service or a release, one person being in it.

Where many outputs are drawn in one call, noise that two cells of one release, two releases or two people share is shared
between outputs, or not drawn twice at all, and no attack on them can see it. So a share of the outputs of an audit are
separate runs from the first draw to the last: a person's report and that of another, all releases of a curator with a
restart between them, two data sets, the sums of all shufflers. What a service can run is played by the classes that its curator
and its shuffler run (`service.intermediary`), message by message as bytes; what none can (trees, questions that change from
release to release) by the aggregates of the protocol.

**The worst pair** is searched for: the one that is furthest apart for the noise that is seen, (x - y)' C^-1 (x - y) with C the
covariance of runs in which nothing but noise differs. Where some combination of the outputs has no noise it is a pair that
differs in that combination, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...data.privatizers import open_aggregate, respond
from ...data.privatizers.dataset import grid_of
from ...data.trajectories import Trajectory
from ...data.trajectories.observed import handed
from ...mechanisms.noise import NoiseSource, ReplayableNoise
from ...protocol.design import Design
from ...protocol.releases import Report, Sum
from ...protocol.releases.release import read_release
from ...service.intermediary.curator import EpisodeBatches
from ...service.intermediary.shuffler import ReportBatches
from .auditing import WHOLE, Target
from .counters import batches_from
from .events import Array
from .people import Pair, all_episodes, audited_question, exact_message, pairs
from .reservoir import Reservoir

SHARE = 0.02
"""Of the samples of an audit that are whole runs."""
SEARCH = 2
"""Runs for each cell from which the noise is learned that a worst pair is searched for."""
SEARCH_SEED = 7
# A direction with less noise than this share of the average has none.
RIDGE = 1e-9


@dataclass(frozen=True)
class WholeRun:
    """How whole runs are made. play(person, noise): (cells,) all that is seen of a run with this person in it. exact(person): her
    part of that without noise.

    people: the two who are compared, where the worst are known and not searched for.
    """

    play: Callable[[Trajectory, NoiseSource], Array]
    exact: Callable[[Trajectory], Array]
    share: float = SHARE
    people: Pair | None = None


def whole_target(name: str, design: Design, run: WholeRun) -> Target:
    """The target of whole runs with either of two people, who are as far apart as can be for the noise that is seen."""
    people = run.people or worst_pair(run, all_episodes(design.question.spec))

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        return np.stack([run.play(people[world], noise) for _ in range(count)])

    grid = design.mechanism.grid
    return Target(name, design.act.loss, sample, None, None, design.trust, design.calibration, grid, run.share, WHOLE)


def worst_pair(run: WholeRun, people: list[Trajectory]) -> tuple[Trajectory, Trajectory]:
    """The two people who are furthest apart for the noise that is seen: see the module."""
    noise = Reservoir(ReplayableNoise(SEARCH_SEED))
    cells = run.exact(people[0]).size
    runs = np.stack([run.play(people[0], noise) for _ in range(SEARCH * cells)])
    spread = np.atleast_2d(np.cov(runs, rowvar=False))
    spread += RIDGE * (np.trace(spread) / len(spread) + RIDGE) * np.eye(len(spread))
    shown = np.stack([run.exact(person) for person in people])
    whitened = np.linalg.solve(np.linalg.cholesky(spread), shown.T).T
    squares = (whitened**2).sum(axis=1)
    far = squares[:, None] + squares[None] - 2 * whitened @ whitened.T
    first, second = np.unravel_index(int(far.argmax()), far.shape)
    return people[int(first)], people[int(second)]


def local_whole(design: Design) -> WholeRun:
    """The report of one person and that of another, who is the same in both worlds, as the server reads them."""
    another, grid = pairs(design.question.spec)[0][0], design.mechanism.grid
    member = audited_question(design)

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        seen = []
        for sender in (person, another):
            sent = respond(design, member, sender, noise, simulated=True).to_bytes(design)
            report = Report.from_bytes(sent, design)
            seen.append(np.append(report.cells * grid, report.row))
        return np.concatenate(seen)

    def shown(person: Trajectory) -> Array:
        return np.concatenate([exact_message(design, person, grid), np.zeros(design.question.width + 2)])

    # A report about one pair says nothing of which pairs are asked about: people who share none differ most in that.
    return WholeRun(play, shown, people=pairs(design.question.spec)[0] if design.kind.first_visits else None)


def joint_whole(design: Design) -> WholeRun:
    """All releases of a curator who was restarted after each. The person is in the first batch, and in as many as they may be."""
    other, releases, grid = pairs(design.question.spec)[0][0], design.schedule.releases, design.mechanism.grid
    member, ends = audited_question(design), [0, *design.schedule.ends.tolist()]
    hers = {ends[batch - 1] for batch in batches_from(design.counter, 1)}

    def served(person: Trajectory, noise: NoiseSource) -> Array:
        seen, state = [], b""
        for release in range(releases):
            batches = EpisodeBatches(design, noise, simulated=True)
            for number in range(ends[release], ends[release + 1]):
                batches.take(release + 1, handed(person if number in hers else other, design.question))
            _, body, state = batches.close(release + 1, ends[release + 1] - ends[release], state)
            seen.append(design.kind.packed(read_release(design, body)))
        return np.concatenate(seen)

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        aggregate, seen = open_aggregate(design, noise, simulated=True), []
        for release in range(releases):
            for number in range(ends[release], ends[release + 1]):
                aggregate.take(person if number in hers else other, member)
            seen.append(design.kind.packed(aggregate.close(member)))
            if release + 1 < releases:
                aggregate = type(aggregate).from_bytes(aggregate.to_bytes(), design, noise, True)  # type: ignore[attr-defined]
        return np.concatenate(seen)

    running = play if member is not None else served
    return WholeRun(running, lambda person: np.tile(exact_message(design, person, grid), releases))


def central_whole(design: Design) -> WholeRun:
    """The release of a data set of two people, and that of another data set about whom nothing changes."""
    other, member = pairs(design.question.spec)[0][0], audited_question(design)
    grid = grid_of(design)

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        seen = []
        for member_of_data in (person, other):
            aggregate = open_aggregate(design, noise, simulated=True)
            for episode in (other, *(member_of_data,) * design.episodes):
                aggregate.take(episode, member)
            seen.append(design.kind.packed(aggregate.close(member)))
        return np.concatenate(seen)

    def shown(person: Trajectory) -> Array:
        cells = design.episodes * exact_message(design, person, grid)
        return np.concatenate([cells, np.zeros(cells.size)])

    return WholeRun(play, shown)


def shuffle_whole(design: Design) -> WholeRun:
    """What shufflers give out after every batch. The person is in the first, among others who are all alike.

    Where batches widen, which have nothing to do with each other, only the last and largest is played.
    """
    other, rows = pairs(design.question.spec)[0][0], design.question.rows
    sizes = np.diff(design.schedule.ends, prepend=0).tolist()
    alone = design.mixing is not None and design.mixing.widening
    groups = list(enumerate(sizes))[-1:] if alone else list(enumerate(sizes))

    def served(person: Trajectory, noise: NoiseSource) -> Array:
        batches, seen, sender = ReportBatches(design), [], person
        for group, people in groups:
            for _ in range(people):
                message = respond(design, None, sender, noise, batch=group, simulated=True)
                batches.take(group + 1, message[0].report.to_bytes(design))
                sender = other
            closed = batches.close(group + 1, people, b"")
            if closed is not None:  # the last batch may be too small
                total = Sum.from_bytes(closed.body, design)
                seen.append(np.append(total.cells.ravel(), total.people))
            batches.forget(group + 1)
        return np.concatenate(seen).astype(np.float64)

    def play(person: Trajectory, noise: NoiseSource) -> Array:
        aggregate, seen, sender = open_aggregate(design, noise, simulated=True), [], person
        for group, people in groups:
            for _ in range(people):
                aggregate.take(respond(design, None, sender, noise, batch=group, simulated=True))
                sender = other
            seen += [np.append(sums.total.cells.ravel(), sums.total.people) for sums in aggregate.cover]  # type: ignore[attr-defined]
        return np.concatenate(seen).astype(np.float64)

    tree = design.mixing is not None and design.mixing.tree
    running = play if tree else served
    seen = running(other, Reservoir(ReplayableNoise(SEARCH_SEED))).size

    def shown(person: Trajectory) -> Array:
        grid = design.devices[0].grid
        cells = np.append(np.tile(exact_message(design, person, grid) / grid, rows), np.zeros(rows))
        # A tree's sums cover all users so far; a service's batches are disjoint, and she is in the first.
        return np.resize(cells, seen) if tree else np.append(cells, np.zeros(seen - len(cells)))

    return WholeRun(running, shown, SHARE / 2)
