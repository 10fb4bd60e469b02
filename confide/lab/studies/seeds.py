"""Several runs at once, seed by seed: spread over processes or machines, and each seed kept when it is finished."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ... import validation
from ...analysis.results import Run
from ..simulation import Choices, Setting, complete
from ..simulation.kept import FinishedSeed, KeptSeeds
from ..simulation.record import known_elsewhere
from ..simulation.simulate import collected, run_seed
from .spreading import TaskEngine, spread


@dataclass
class UnfinishedRun:
    """A run, its seeds so far, and where they are kept, if they are."""

    setting: Setting
    label: str = ""
    kept: KeptSeeds | None = None
    done: dict[int, FinishedSeed] = field(default_factory=dict)

    @classmethod
    def begun(cls, setting: Setting, target: Path | None, label: str = "") -> UnfinishedRun:
        """A run that is to be saved in `target`, with the seeds that an interrupted one kept for it."""
        kept = None if target is None else KeptSeeds.of(setting, target)
        seeds = validation.integer("seeds", setting.choices.seeds, 1)
        return cls(setting, label, kept, {} if kept is None else kept.get(seeds))

    @property
    def seeds(self) -> int:
        """How many seeds the run is to have."""
        return self.setting.choices.seeds

    @property
    def missing(self) -> list[int]:
        """The seeds that are still to be run."""
        return [index for index in range(self.seeds) if index not in self.done]

    def take(self, index: int, finished: FinishedSeed) -> None:
        """Take in a finished seed, and keep it."""
        if self.kept is not None:
            self.kept.put(index, finished)
        self.done[index] = finished

    def run(self) -> Run:
        """The run that the seeds make; its seconds are those of all of them, whenever and wherever they were run."""
        seeds = [self.done[index] for index in sorted(self.done)]
        seconds = sum(seed.seconds for seed in seeds)
        return collected(self.setting, [seed.outcome for seed in seeds], seconds, self.label)


def finished_runs(
    runs: Mapping[int, UnfinishedRun], engine: TaskEngine, progress: Callable[[int], None]
) -> Iterator[tuple[int, Run]]:
    """The runs as they are finished, each with its number. `progress` is called with how many seeds of all are done."""
    here = engine.scheduler is None and engine.workers == 1
    places = [(number, index) for number, run in runs.items() for index in run.missing]
    tasks: list[tuple[Any, ...]] = [(_sent(runs[number].setting, here), index) for number, index in places]
    yield from ((number, run.run()) for number, run in runs.items() if not run.missing)
    done = sum(len(run.done) for run in runs.values())
    progress(done)
    for task, finished in spread(_timed, tasks, engine):
        number, index = places[task]
        runs[number].take(index, finished)
        done += 1
        progress(done)
        if not runs[number].missing:
            yield number, runs[number].run()


def _timed(sent: Setting | str, index: int) -> FinishedSeed:
    """One seed of a run, and how long it took."""
    setting = _completed(sent) if isinstance(sent, str) else sent
    started = time.perf_counter()
    return FinishedSeed(run_seed(setting, index), time.perf_counter() - started)


def _sent(setting: Setting, here: bool) -> Setting | str:
    """What a task is sent: the choices, if another process is to complete them and knows their names; else the setting itself."""
    if here or not known_elsewhere(setting.choices):
        return setting
    return json.dumps(setting.choices.as_json())


@cache
def _completed(choices: str) -> Setting:
    """The setting of choices in JSON: made once in a process, since a design can take seconds."""
    return complete(Choices.from_json(json.loads(choices)))
