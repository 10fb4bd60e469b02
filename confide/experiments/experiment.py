"""An experiment is data: an address, what a paper shows, parts to run, and a view to look at them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .curve import rescheduled
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
    """One figure or table: `paper` says what its authors show, `seen` what we see and where that differs.

    scale: the size at paper scale, in words; minutes: how long that took on one core.
    """

    address: str
    title: str
    paper: str
    seen: str
    scale: str
    minutes: float
    parts: tuple[Part, ...]
    seeds: int
    view: View
    quick_seeds: int = QUICK_SEEDS

    def promises(self) -> list[str]:
        """The true guarantees of the parts, each said once."""
        return list(dict.fromkeys(part.promise() for part in self.parts))

    def having(self, schedule: str) -> Experiment:
        """The same with people arriving by another schedule."""
        return replace(self, parts=tuple(rescheduled(part, schedule) for part in self.parts))

    def run(
        self, scale: str, store: Store, engine: Engine | None = None, progress: Callable[[int], None] = lambda _: None
    ) -> list[Found]:
        """What every part gives, in order; parts whose result is in the store are not run again."""
        seeds = self.seeds if scale == PAPER else min(self.seeds, self.quick_seeds)
        found = {index: known for index, part in enumerate(self.parts) if (known := store.get(part, scale, seeds))}
        progress(len(found))
        waiting = [(index, part) for index, part in enumerate(self.parts) if index not in found]
        for index, result in _finished(waiting, scale, seeds, engine or Engine()):
            store.put(self.parts[index], scale, seeds, result)
            found[index] = result
            progress(len(found))
        # Experiments that share a part may call it by different names.
        return [replace(found[index], label=part.label) for index, part in enumerate(self.parts)]


def _finished(waiting: list[tuple[int, Part]], scale: str, seeds: int, engine: Engine) -> Iterator[tuple[int, Found]]:
    tasks: list[tuple[Any, ...]] = [(part, scale, seeds) for _, part in waiting]
    for number, result in spread(find, tasks, engine):
        yield waiting[number][0], result


def find(part: Part, scale: str, seeds: int) -> Found:
    """A part's result, as a function that can be sent to another machine."""
    return part.find(scale, seeds)
