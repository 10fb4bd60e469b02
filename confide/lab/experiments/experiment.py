"""An experiment is data: an address, what a paper shows, parts to run, and a view to look at them with.

Every experiment by its address; a module is imported when one of its experiments is wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ... import validation
from ...errors import InvalidInput
from ..studies.spreading import TaskEngine, spread
from .facts import Claim, Facts, Seen
from .part import PAPER, QUICK_SEEDS, ExperimentPart, PartResult, ResultStore

if TYPE_CHECKING:
    from .curve import Curve

TableRow = Sequence[str]


class View(Protocol):
    """A way to show the results of parts."""

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """The rows of a table, the first of them its heads."""

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw pictures into the folder, files that end in `suffix`."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table: `paper` says what its authors show, `seen` what we see and where that differs: words without
    numbers, or a function of the data that reads its numbers there and has its claims checked.

    scale: the size at paper scale, in words; minutes: how long that took on one core. headline: a small table for
    other pages, made of the results.
    """

    address: str
    title: str
    paper: str
    seen: str | Seen
    scale: str
    minutes: float
    parts: tuple[ExperimentPart, ...]
    seeds: int
    view: View
    quick_seeds: int = QUICK_SEEDS
    headline: Callable[[Sequence[PartResult]], list[TableRow]] | None = None

    def promises(self) -> list[str]:
        """The true guarantees of the parts, each said once."""
        return list(dict.fromkeys(part.promise() for part in self.parts))

    def text(self, scale: str, results: Sequence[PartResult]) -> str:
        """The text of what we see; refused where the data does not show what it claims."""
        seen = self._seen(scale, results)
        return seen if isinstance(seen, str) else " ".join(_sentence(said) for said in seen)

    def remarks(self, scale: str, results: Sequence[PartResult]) -> str:
        """The text of what we see without its claims."""
        seen = self._seen(scale, results)
        return seen if isinstance(seen, str) else " ".join(said for said in seen if isinstance(said, str))

    def claims(self, scale: str, results: Sequence[PartResult]) -> list[Claim]:
        """What is seen as data: claims, measurements, verdicts; none where it is a text."""
        seen = self._seen(scale, results)
        return [] if isinstance(seen, str) else [said for said in seen if not isinstance(said, str)]

    def _seen(self, scale: str, results: Sequence[PartResult]) -> str | Sequence[Claim | str]:
        return self.seen if isinstance(self.seen, str) else self.seen(Facts(self.address, scale, results))

    def having(self, schedule: str | None, seeds: int | None = None) -> Experiment:
        """The same experiment with people arriving by another schedule, or with fewer seeds."""
        from .curve import rescheduled

        def later(curve: Curve) -> Curve:
            return curve if schedule is None else rescheduled(curve, schedule)

        parts = tuple(part.changed(later) for part in self.parts)
        most = self.seeds if seeds is None else seeds
        return replace(self, parts=parts, seeds=min(most, self.seeds), quick_seeds=min(most, self.quick_seeds))

    def only(self, text: str) -> Experiment:
        """The same experiment with those parts alone whose label contains a text, in which * stands for anything."""
        parts = tuple(part for part in self.parts if fnmatchcase(part.label, f"*{text}*"))
        if not parts:
            named = "; ".join(repr(part.label) for part in self.parts[:2]) or "none"
            raise InvalidInput(
                "experiment-part-unknown",
                f"No part of {self.address} has {text!r} in its label. Its first labels are {named}.",
            )
        return replace(self, parts=parts)

    def _seeds(self, part: ExperimentPart, scale: str) -> int:
        many = part.seeds or self.seeds
        return many if scale == PAPER else min(many, self.quick_seeds)

    def run(
        self,
        scale: str,
        store: ResultStore,
        engine: TaskEngine | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[PartResult]:
        """The results of all parts, in order; parts whose result is in the store are not run again."""
        seeds = [self._seeds(part, scale) for part in self.parts]
        results = self._stored(scale, store)
        progress(len(results))
        waiting = [index for index in range(len(self.parts)) if index not in results]
        tasks = [(self.parts[index], scale, seeds[index]) for index in waiting]
        for number, result in spread(compute, tasks, engine or TaskEngine()):
            index = waiting[number]
            store.put(self.parts[index], scale, seeds[index], result)
            results[index] = result
            progress(len(results))
        return self._named(results)

    def finished(self, scale: str, store: ResultStore) -> list[PartResult]:
        """The results that are in the store, in order, with fewer seeds where no more were run; nothing is run."""
        return self._named(self._stored(scale, store, fewer=True))

    def _stored(self, scale: str, store: ResultStore, *, fewer: bool = False) -> dict[int, PartResult]:
        stored = {}
        for index, part in enumerate(self.parts):
            most = self._seeds(part, scale)
            tried = (store.get(part, scale, seeds) for seeds in range(most, 0 if fewer else most - 1, -1))
            known = next((result for result in tried if result is not None), None)
            if known is not None:
                stored[index] = known
        return stored

    def _named(self, results: dict[int, PartResult]) -> list[PartResult]:
        """The results in order, with this experiment's labels: those that share a part may name it differently."""
        return [replace(results[index], label=self.parts[index].label) for index in sorted(results)]


def _sentence(said: Claim | str) -> str:
    """A claim, or a remark, as a page says it."""
    return said if isinstance(said, str) else said.sentence()


def compute(part: ExperimentPart, scale: str, seeds: int) -> PartResult:
    """A part's result, as a function that can be sent to another machine; its seconds are those of a core, not of a clock."""
    started = time.process_time()
    result = part.compute(scale, seeds)
    return replace(result, seconds=time.process_time() - started)


HOMES = {
    "worlds": ("ours/worlds",),
    "cost": ("ours/cost-of-privacy",),
    "rivals": ("ours/rivals",),
    "bandits": ("ours/bandits",),
    "features": ("ours/features",),
    "verdict": ("ours/claimed-and-true",),
    "online": ("ours/joint-riverswim", "ours/local-riverswim", *(f"ours/local-random-{e}" for e in ("0.2", "2", "20"))),
    "private_ucb": ("private-ucb/table-1-joint", "private-ucb/table-1-local"),
    "private_ucb_printed": ("private-ucb/as-printed",),
    "ldp_obi": (
        *(f"ldp-obi/figure-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9)),
        *("ldp-obi/table-1", "ldp-obi/lower-bound", "ldp-obi/theorem-5", "ldp-obi/proposition-4"),
    ),
    "shuffled": ("shuffled-obi/table-1", "shuffled-obi/theorem-6", "shuffled-obi/repair", "shuffled-obi/burn-in"),
    "vtr": (
        *(f"ldp-ucrl-vtr/figure-2-{name}" for name in ("3", "3-inhomogeneous", "5", "5-inhomogeneous")),
        *("ldp-ucrl-vtr/lower-bound", "ldp-ucrl-vtr/lemma-5.5"),
    ),
    "vtr_theorem": ("ldp-ucrl-vtr/theorem-5.2",),
    "offline": (
        *("offline/figure-1a", "offline/figure-1b", "offline/theorem-3.3", "offline/theorem-4.1"),
        *("ours/offline-clinic", "ours/icu-sepsis"),
    ),
}
"""The addresses of each module's experiments; ours first."""

ADDRESSES = {address: home for home, addresses in HOMES.items() for address in addresses}


@cache
def catalogue() -> dict[str, Experiment]:
    """All experiments by address, paper by paper; ours first."""
    return {address: experiment for home in HOMES for address, experiment in _in(home).items()}


def _in(home: str) -> dict[str, Experiment]:
    module = import_module(f".{home}", __package__)
    return {experiment.address: experiment for experiment in module.EXPERIMENTS}


def chosen(names: tuple[str, ...]) -> list[Experiment]:
    """The experiments at these addresses; `all`, or the name of a paper, stands for many."""
    papers = {address.partition("/")[0] for address in ADDRESSES}
    wanted: dict[str, str] = {}
    for word in names:
        validation.choice("experiment", word, [*ADDRESSES, *sorted(papers), "all"])
        wanted |= {
            address: home
            for address, home in ADDRESSES.items()
            if word in ("all", address) or (word in papers and address.startswith(f"{word}/"))
        }
    return [_in(home)[address] for address, home in wanted.items()]
