"""Finished seeds of a run that is not finished: kept one by one, so that what was interrupted goes on from them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...analysis.results.folder import kept_place
from ...errors import InvalidInput
from .record import code_of, record_of
from .setting import Outcome, Setting


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
