"""Targets made of a whole curator: every user's episodes in, all releases out.

Outputs come from the curator's own aggregate. Its counter may run many streams side by side and hand on the first; as in
`devices`, what is sent is compared with what the counter said, and if they differ each output is a separate run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...data.privatizers import open_aggregate
from ...data.privatizers.dataset import grid_of
from ...data.trajectories import Trajectory
from ...mechanisms.buffered import BufferedToeplitzCounter
from ...mechanisms.counter import Counter, CounterState
from ...mechanisms.noise import NoiseSource
from ...mechanisms.toeplitz import ToeplitzCounter
from ...mechanisms.tree import TreeCounter
from ...protocol.design import Design
from .auditing import Target
from .counters import batches_from, exact_stream_loss, mixing, stream_loss
from .devices import ONE_A_CALL, sharing
from .events import DECIMALS, Array
from .likelihood import exact_loss, log_likelihood_ratio
from .mechanisms import Standing
from .people import Pair, audited_question, exact_message

# Among this many aggregates the outputs of one draw are shared: a cell that is released bare is noisy by chance in one, not in all.
AGGREGATES = 8
# Known to treat every cell by itself, so that streams may run side by side.
CELL_BY_CELL = (TreeCounter, ToeplitzCounter, BufferedToeplitzCounter)


def joint_target(name: str, design: Design, people: Pair, batch: int = 1) -> Target:
    """The target of all releases of a curator together. Each batch is one person, the first of the two, but for one batch in
    world 1, and those after it in which the same person takes part again."""
    counter = design.counter
    hers = batches_from(counter, batch)

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        everybody = [people[world if release in hers else 0] for release in range(1, counter.releases + 1)]
        if type(counter) in CELL_BY_CELL:
            many = ManyStreams(counter, count)
            sharing_it = replace(design, act=replace(design.act, mechanism=many))
            sharing_it.__dict__["digest"] = design.digest  # what it is distinguished by is not what draws
            sent = _run(sharing_it, everybody, noise)
            stated = [streams[0] for streams in many.outputs]
            if len(sent) == len(stated) and np.allclose(sent, stated, rtol=0, atol=10.0**-DECIMALS):
                return np.concatenate(many.outputs, axis=1)
        return np.stack([np.concatenate(_run(design, everybody, noise)) for _ in range(count)])

    share = 1.0 if type(counter) in CELL_BY_CELL else ONE_A_CALL
    first, second = (exact_message(design, person, counter.grid) for person in people)
    unchanged = np.outer(np.arange(1, counter.releases + 1), first).ravel()
    mixed = mixing(counter)
    ratio = None if mixed is None else stream_loss(counter, mixed, second - first, batch)
    return Target(
        name,
        design.act.loss,
        sample,
        None if ratio is None else lambda outputs: ratio(outputs - unchanged),
        exact_stream_loss(counter, second - first, batch),
        design.trust,
        design.calibration,
        counter.grid,
        share,
    )


def central_target(name: str, design: Design, people: Pair) -> Target:
    """The target of the release of a data set of two people: the first of the two, and either of them, with all her episodes."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        everybody = [people[0], *(people[world],) * design.episodes]
        outputs: list[Array] = []
        for _ in range(AGGREGATES):
            shared = sharing(design, math.ceil(count / AGGREGATES))
            if shared is None:
                break
            changed, many = shared
            sent = _run(changed, everybody, noise, together=True)
            if len(many.outputs) != 1 or not np.allclose(sent[0], many.outputs[0][0], rtol=0, atol=10.0**-DECIMALS):
                break
            outputs.append(many.outputs[0])
        if len(outputs) == AGGREGATES:
            return np.concatenate(outputs)[:count]
        return np.stack([_run(design, everybody, noise, together=True)[0] for _ in range(count)])

    first, second = (exact_message(design, person, grid_of(design)) for person in people)
    inputs = (first + design.episodes * first, first + design.episodes * second)
    trials = design.question.trials
    ratio = log_likelihood_ratio(design.mechanism, inputs, trials)
    exact = exact_loss(design.mechanism, inputs, trials)
    grid, share = design.mechanism.grid, 1.0 if sharing(design, 1) is not None else ONE_A_CALL
    return Target(name, design.act.loss, sample, ratio, exact, design.trust, design.calibration, grid, share)


@dataclass(frozen=True)
class ManyStreams(Standing, Counter):
    """A counter that runs many streams side by side, keeps all their releases and hands on those of the first."""

    inner: Counter
    copies: int
    outputs: list[Array] = field(default_factory=list)

    @property
    def releases(self) -> int:
        """Those of the counter."""
        return self.inner.releases

    def std(self, release: int) -> float:
        """That of one stream."""
        return self.inner.std(release)

    def rounding(self, release: int) -> float:
        """That of one stream."""
        return self.inner.rounding(release)

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """That of one stream."""
        return self.inner.radius(release, failure, cells)

    def init(self, cells: int) -> CounterState:
        """The state of all streams at their start."""
        return self.inner.init(self.copies * cells)

    def next(self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource) -> tuple[CounterState, Array]:
        """Advance all streams by the same increment, and return the releases of the first."""
        state, released = self.inner.next(state, np.tile(increment, self.copies), noise)
        self.outputs.append(released.reshape(self.copies, -1))
        return state, np.asarray(self.outputs[-1][0])


def _run(design: Design, everybody: list[Trajectory], noise: NoiseSource, together: bool = False) -> list[Array]:
    """The cells of all releases: one after each person, with a restart after it, or one after all of them together."""
    aggregate, released, member = open_aggregate(design, noise, simulated=True), [], audited_question(design)
    for number, person in enumerate(everybody, start=1):
        aggregate.take(person, member)
        if not together or number == len(everybody):
            released.append(design.kind.packed(aggregate.close(member)))
            if number < len(everybody):  # a restart must change nothing
                aggregate = type(aggregate).from_bytes(aggregate.to_bytes(), design, noise, True)  # type: ignore[attr-defined]
    return released
