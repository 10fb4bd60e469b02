"""Choosing a constant by trying several on simulations, and keeping the choice with the command that made it.

Scaling a bonus never changes privacy, but choosing the scale by looking at people's data is a query like any other. So
this room tunes on simulated people alone, with seeds of its own: a run that is reported should use others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ..._version import __version__
from ...errors import FormatError
from ...mdp import Model
from ...privacy import Guarantee
from ...validation import Json
from ..environments import Environment
from .setting import Choice
from .simulate import prepare, run

if TYPE_CHECKING:
    from ...learning.learners.learner import AnyLearner

SCHEMA = "confide.tuning/1"

SEED = 2**31
"""The default root of tuning: not the one that runs are reported with by default."""

SURELY = 2.0
"""How many standard errors worse a value must be before it is called worse."""

# Called after every value that was tried with how many are done.
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Tuning:
    """What was tried, what came of it and what was chosen.

    regret: mean final regret over the seeds for each value of the grid; error: its standard error. rivals: values that are not
    surely worse than the chosen one, since the seeds disagree. same: values that give the chosen one's results, seed by seed.
    """

    constant: str
    grid: tuple[float, ...]
    regret: tuple[float, ...]
    error: tuple[float, ...]
    config: dict[str, Any]
    command: str = ""
    rivals: tuple[float, ...] = ()
    same: tuple[float, ...] = ()

    @property
    def chosen(self) -> float:
        """The value of least mean final regret; the smallest on ties."""
        return self.grid[int(np.argmin(self.regret))]

    @property
    def at_edge(self) -> bool:
        """Whether the choice is the first value tried, and not 0, or the last: better ones may lie beyond."""
        return self.chosen in (min(self.grid), max(self.grid)) and self.chosen > 0

    def as_json(self) -> dict[str, Json]:
        """The machine-readable form."""
        return {"schema": SCHEMA, "version": __version__, "chosen": self.chosen, **asdict(self)}

    def save(self, path: str | Path) -> Path:
        """Write as JSON."""
        target = Path(path)
        target.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: str | Path) -> Tuning:
        """Read what `save` wrote; refuse anything else."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data.pop("schema") != SCHEMA:
                raise ValueError("its schema is another")
            data.pop("version")
            chosen = data.pop("chosen")
            fields: dict[str, Any] = {
                key: tuple(entry) if isinstance(entry, list) else entry for key, entry in data.items()
            }
            tuning = cls(**fields)
            if tuning.chosen != chosen:
                raise ValueError("its choice is not the best of its grid")
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                "tuning-unreadable", f"{path} does not hold a tuning this version can read: {error}."
            ) from error
        return tuning


def tune(
    learner: str | AnyLearner,
    environment: str | Environment | Model,
    privacy: Guarantee | None = None,
    episodes: float = 10_000,
    seeds: int = 5,
    *,
    grid: Sequence[float],
    constant: str = "bonus_scale",
    seed: int = SEED,
    workers: int = 1,
    progress: Progress | None = None,
    command: str = "",
    **choices: Choice,
) -> Tuning:
    """Simulate with each value of the grid, the same people each time. `choices` are those of `simulate`.

    `constant` is `bonus_scale`, which every learner has, or an option of the learner's own, such as c of `ucrl-vtr`.
    """
    values = tuple(sorted(validation.between(f"value of {constant}", value, 0.0, 1e12) for value in grid))
    if not values:
        raise validation.refusal("tune-grid-empty", "grid", "at least one value", values)
    finals, config = [], {}
    for done, value in enumerate(values, start=1):
        attempt = {**choices, constant: value}
        setting = prepare(learner, environment, privacy, episodes, seeds=seeds, seed=seed, **attempt)
        setting.warn_if_drowned()
        done_runs = run(setting, workers)
        finals.append(done_runs.regret[:, -1] * (1 if done_runs.measure == "regret" else -1))
        config = {key: entry for key, entry in done_runs.config.items() if key not in (constant, "choices")}
        config["options"] = {
            key: value for key, value in choices.items() if key not in (*config, constant) and value is not None
        }
        if progress is not None:
            progress(done)
    regret = tuple(float(final.mean()) for final in finals)
    best = finals[int(np.argmin(regret))]
    # The same people each time, so differences are taken seed by seed; with one seed nothing is sure.
    differences = [(value, final - best) for value, final in zip(values, finals, strict=True) if final is not best]
    same = tuple(value for value, excess in differences if not excess.any())
    rivals = tuple(
        value
        for value, excess in differences
        if excess.any() and (len(excess) < 2 or excess.mean() < SURELY * _error(excess))
    )
    return Tuning(constant, values, regret, tuple(_error(final) for final in finals), config, command, rivals, same)


def _error(final: NDArray[np.float64]) -> float:
    """The standard error of a mean over seeds."""
    return float(final.std(ddof=min(1, len(final) - 1)) / np.sqrt(len(final)))
