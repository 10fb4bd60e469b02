"""Several runs at once, seed by seed: spread over processes or machines, and each seed kept when it is finished.

What was interrupted goes on from the seeds that are kept.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import validation
from ...analysis.results import Run
from ...analysis.results.folder import kept_place
from ...errors import InvalidInput
from ..simulation import Choices, complete
from ..simulation.record import code_of, known_elsewhere, record_of
from ..simulation.setting import Outcome, Setting
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
    tasks = [(_sent(runs[number].setting, here), index) for number, index in places]
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


class FinishedSeed(NamedTuple):
    """What one seed gave, and the seconds that it took."""

    outcome: Outcome
    seconds: float


@dataclass(frozen=True)
class KeptSeeds:
    """Checkpoints of one run, a file for each finished seed, in a hidden folder beside the one in which the run is to be saved.

    Files are named by all that an outcome depends on (the choices but the number of seeds, the sources, the files of the user,
    the world), so that seeds of another run are never taken for this one's. Each appears whole or not at all.
    """

    folder: Path
    identity: str

    @classmethod
    def of(cls, setting: Setting, target: Path) -> KeptSeeds:
        """The checkpoints of a run that is to be saved in `target`; refused if what was chosen has no name to know it by."""
        named = setting.choices.as_json()
        if named is None:
            raise InvalidInput(
                "kept-seeds-nameless",
                "Seeds are kept of runs whose learner, world and schedule have names. One of them is an object of Python. "
                "Register it (confide.register), or keep nothing.",
            )
        choices = {**named, "seeds": None}
        text = json.dumps([choices, code_of(record_of(setting.environment, setting.choices))], sort_keys=True)
        return cls(kept_place(target), hashlib.sha256(text.encode()).hexdigest()[:24])

    def get(self, seeds: int) -> dict[int, FinishedSeed]:
        """The finished ones of the first `seeds` seeds; what cannot be read is run again."""
        found = {}
        for index in range(seeds):
            try:
                with np.load(io.BytesIO(self._place(index).read_bytes()), allow_pickle=False) as held:
                    outcome = Outcome(held["regret"], float(held["final_value"]), held["policy"])
                    found[index] = FinishedSeed(outcome, float(held["seconds"]))
            except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
                continue
        return found

    def put(self, index: int, finished: FinishedSeed) -> None:
        """Keep one seed."""
        content, target = io.BytesIO(), self._place(index)
        values: dict[str, Any] = {**finished.outcome._asdict(), "seconds": finished.seconds}
        np.savez_compressed(content, **values)
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}.partial")
        draft.write_bytes(content.getvalue())
        os.replace(draft, target)

    def _place(self, index: int) -> Path:
        return self.folder / f"{self.identity}-{index}.npz"
