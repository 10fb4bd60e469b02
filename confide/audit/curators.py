"""Targets made of a whole central privatizer: everybody's episodes in, all its releases out.

Outputs come from the privatizer's own `answer`. Its counter may run many streams side by side and hand on the first;
as in `devices`, what is sent is compared with what the counter said, and if they differ each output is a separate run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.buffered import BufferedToeplitzCounter
from ..mechanisms.counter import Counter, State
from ..mechanisms.noise import NoiseSource
from ..mechanisms.toeplitz import ToeplitzCounter
from ..mechanisms.tree import TreeCounter
from ..privatizers import CentralPrivatizer
from ..releases import CountRelease
from ..releases.question import CENTRED, REWARDS, SQUARES, TRANSITIONS, VISITS
from .auditing import Target
from .counters import exact_stream_loss, mixing, stream_loss
from .events import DECIMALS, Array
from .people import Pair, counts

# Known to treat every cell by itself, so that streams may run side by side.
CELL_BY_CELL = (TreeCounter, ToeplitzCounter, BufferedToeplitzCounter)


def central_target(name: str, privatizer: CentralPrivatizer, people: Pair, batch: int = 1) -> Target:
    """All releases together. Each batch is one person, the first of the two, but for one batch in world 1."""
    # Radii are public and the same in both worlds; leaving them out saves most of the time.
    plain = replace(privatizer, printed=(lambda *_: np.zeros(5), 0.0))
    counter = privatizer.counter

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        everybody = [people[world if release == batch else 0] for release in range(1, counter.releases + 1)]
        if type(counter) in CELL_BY_CELL:
            many: Any = ManyStreams(counter, count)
            sent = _run(replace(plain, act=replace(plain.act, mechanism=many)), everybody, noise)
            said = [kept[0] for kept in many.kept]
            if len(sent) == len(said) and np.allclose(sent, said, rtol=0, atol=10.0**-DECIMALS):
                return np.concatenate(many.kept, axis=1)
        return np.stack([np.concatenate(_run(plain, everybody, noise)) for _ in range(count)])

    first, second = (counts(privatizer.question, person) for person in people)
    unchanged = np.outer(np.arange(1, counter.releases + 1), first).ravel()
    mixed = mixing(counter)
    ratio = None if mixed is None else stream_loss(counter, mixed, second - first, batch)
    return Target(
        name,
        privatizer.act.loss,
        sample,
        None if ratio is None else lambda outputs: ratio(outputs - unchanged),
        exact_stream_loss(counter, second - first, batch),
        privatizer.asked.trust,
        privatizer.calibration,
        counter.grid,
    )


@dataclass(frozen=True)
class ManyStreams:
    """A counter that runs many streams side by side, keeps all their releases and hands on those of the first."""

    inner: Counter
    copies: int
    kept: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def init(self, cells: int) -> State:
        """All streams at their start."""
        return self.inner.init(self.copies * cells)

    def next(self, state: State, increment: NDArray[np.int64], noise: NoiseSource) -> tuple[State, Array]:
        """All streams take the same increment."""
        state, released = self.inner.next(state, np.tile(increment, self.copies), noise)
        self.kept.append(released.reshape(self.copies, -1))
        return state, np.asarray(self.kept[-1][0])


def _run(privatizer: CentralPrivatizer, everybody: list[Any], noise: NoiseSource) -> list[Array]:
    progress, released = privatizer.begin(), []
    for person in everybody:
        progress, answer = privatizer.answer(progress, [person], 0.5, noise, simulated=True)
        released.append(_packed(answer))
    return released


def _packed(release: CountRelease) -> Array:
    """(cells,) the cells that a release was unpacked from."""
    found = release.counts
    values = {
        VISITS: found.visits,
        REWARDS: found.rewards,
        SQUARES: found.squares,
        CENTRED: found.rewards - found.visits / 2,
        TRANSITIONS: found.transitions,
    }
    return np.concatenate([values[part].ravel() for part in release.question.parts])
