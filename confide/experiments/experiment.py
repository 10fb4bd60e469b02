"""An experiment is data: an address, what a paper shows, parts to run, and a view to look at them with."""

from __future__ import annotations

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

    scale: the size at paper scale, in words; minutes: how long that took on one core.
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

    def promises(self) -> list[str]:
        """The true guarantees of the parts, each said once."""
        return list(dict.fromkeys(part.promise() for part in self.parts))

    def told(self, scale: str, found: Sequence[Found]) -> str:
        """What we see, in words; refused where the data does not show what they claim."""
        return self.seen if isinstance(self.seen, str) else self.seen(Facts(self.address, scale, found))

    def having(self, schedule: str) -> Experiment:
        """The same with people arriving by another schedule."""
        return replace(self, parts=tuple(rescheduled(part, schedule) for part in self.parts))

    def _seeds(self, part: Part, scale: str) -> int:
        many: int = getattr(part, "seeds", None) or self.seeds
        return many if scale == PAPER else min(many, self.quick_seeds)

    def run(
        self, scale: str, store: Store, engine: Engine | None = None, progress: Callable[[int], None] = lambda _: None
    ) -> list[Found]:
        """What every part gives, in order; parts whose result is in the store are not run again."""
        seeds = [self._seeds(part, scale) for part in self.parts]
        each = list(enumerate(zip(self.parts, seeds, strict=True)))
        found = {index: known for index, (part, many) in each if (known := store.get(part, scale, many))}
        progress(len(found))
        waiting = [index for index, _ in each if index not in found]
        tasks: list[tuple[Any, ...]] = [(self.parts[index], scale, seeds[index]) for index in waiting]
        for number, result in spread(find, tasks, engine or Engine()):
            index = waiting[number]
            store.put(self.parts[index], scale, seeds[index], result)
            found[index] = result
            progress(len(found))
        # Experiments that share a part may call it by different names.
        return [replace(found[index], label=part.label) for index, part in enumerate(self.parts)]


def find(part: Part, scale: str, seeds: int) -> Found:
    """A part's result, as a function that can be sent to another machine."""
    return part.find(scale, seeds)
