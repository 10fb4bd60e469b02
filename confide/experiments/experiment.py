"""An experiment is data: an address, what a paper shows, parts to run, and a view to look at them with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .curve import rescheduled
from .facts import Facts, Seen
from .part import PAPER, QUICK_SEEDS, Found, Part, Store
from .spreading import Engine, spread

Row = Sequence[str]


class View(Protocol):
    """A way to look at what parts gave."""

    def table(self, found: Sequence[Found]) -> list[Row]:
        """The heads, then the rows."""

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """Draw pictures into the folder, files that end in `suffix`."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table: `paper` says what its authors show, `seen` what we see and where that differs: words without
    numbers, or a function of the data that reads its numbers there and has its claims checked.

    scale: the size at paper scale, in words; minutes: how long that took on one core. headline: a small table for
    other pages, made of what was found.
    """

    address: str
    title: str
    paper: str
    seen: str | Seen
    scale: str
    minutes: float
    parts: tuple[Part, ...]
    seeds: int
    view: View
    quick_seeds: int = QUICK_SEEDS
    headline: Callable[[Sequence[Found]], list[Row]] | None = None

    def promises(self) -> list[str]:
        """The true guarantees of the parts, each said once."""
        return list(dict.fromkeys(part.promise() for part in self.parts))

    def told(self, scale: str, found: Sequence[Found]) -> str:
        """What we see, in words; refused where the data does not show what they claim."""
        return self.seen if isinstance(self.seen, str) else self.seen(Facts(self.address, scale, found))

    def having(self, schedule: str | None, seeds: int | None = None) -> Experiment:
        """The same with people arriving by another schedule, or with fewer seeds."""
        parts = tuple(rescheduled(part, schedule) for part in self.parts) if schedule else self.parts
        most = self.seeds if seeds is None else seeds
        return replace(self, parts=parts, seeds=min(most, self.seeds), quick_seeds=min(most, self.quick_seeds))

    def _seeds(self, part: Part, scale: str) -> int:
        many: int = getattr(part, "seeds", None) or self.seeds
        return many if scale == PAPER else min(many, self.quick_seeds)

    def run(
        self, scale: str, store: Store, engine: Engine | None = None, progress: Callable[[int], None] = lambda _: None
    ) -> list[Found]:
        """What every part gives, in order; parts whose result is in the store are not run again."""
        seeds = [self._seeds(part, scale) for part in self.parts]
        found = self._stored(scale, store)
        progress(len(found))
        waiting = [index for index in range(len(self.parts)) if index not in found]
        tasks: list[tuple[Any, ...]] = [(self.parts[index], scale, seeds[index]) for index in waiting]
        for number, result in spread(find, tasks, engine or Engine()):
            index = waiting[number]
            store.put(self.parts[index], scale, seeds[index], result)
            found[index] = result
            progress(len(found))
        return self._named(found)

    def finished(self, scale: str, store: Store) -> list[Found]:
        """What the parts gave that are in the store, in order; nothing is run."""
        return self._named(self._stored(scale, store))

    def _stored(self, scale: str, store: Store) -> dict[int, Found]:
        each = ((index, store.get(part, scale, self._seeds(part, scale))) for index, part in enumerate(self.parts))
        return {index: known for index, known in each if known is not None}

    def _named(self, found: dict[int, Found]) -> list[Found]:
        """Experiments that share a part may call it by different names."""
        return [replace(found[index], label=self.parts[index].label) for index in sorted(found)]


def find(part: Part, scale: str, seeds: int) -> Found:
    """A part's result, as a function that can be sent to another machine; its seconds are those of a core, not of a clock."""
    started = time.process_time()
    found = part.find(scale, seeds)
    return replace(found, seconds=time.process_time() - started)
