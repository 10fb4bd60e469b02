"""The result of a simulation: its curves, its certificate, its last policy, and all that is needed to run it again."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from ... import validation
from ...errors import FormatError, InvalidInput
from ...mdp import Policy
from ...mdp.feature_policy import FeaturePolicy
from ...privacy import Certificate
from ...privacy.certificate import html_table
from ...validation import Json
from ..reporting.intervals import NAME, SeedInterval, mean_interval
from ..reporting.numbers import counted, written
from .folder import CERTIFICATE, CONFIG, POLICY, check_free, complete_folder, held_in, read_config, write_config

SCHEMA = "confide.run/1"
CURVES = "curves.parquet"
FILES = (CURVES, CONFIG, CERTIFICATE, POLICY)

REGRET, RETURN = "regret", "return"
MEASURES = (REGRET, RETURN)

# Fields with a file of their own, or with arrays; all others are plain and stand in config.json as they are.
_APART = ("checkpoints", "regret", "final_value", "certificate", "policy")


if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One learner in one environment under one guarantee, for several seeds.

    regret: (seeds, C) cumulative regret after checkpoints (C,) episodes, exact: how much less the policies in use were
    value than the best one. Where the model is not known, `measure` is `return`, it holds summed rewards instead, and
    `optimal_value` is NaN. random_value: of acting uniformly at random, NaN likewise. Values are in learners' units: a sum of H
    rewards in [0, 1].
    """

    environment: str
    learner: str
    trust: str
    episodes: int
    seeds: int
    schedule: dict[str, Json]
    engine: str
    checkpoints: NDArray[np.int64]  # (C,)
    regret: NDArray[np.float64]  # (seeds, C)
    optimal_value: float
    final_value: NDArray[np.float64]  # (seeds,) of the last policy
    seconds: float
    certificate: Certificate
    policy: Policy | FeaturePolicy  # the last one of the first seed
    config: dict[str, Any]
    label: str = ""
    measure: str = REGRET
    random_value: float = math.nan

    def __post_init__(self) -> None:
        validation.choice("measure", self.measure, MEASURES)
        checkpoints = validation.indices("checkpoints", self.checkpoints, self.episodes + 1)
        if not checkpoints.size or checkpoints[0] < 1 or (np.diff(checkpoints) <= 0).any():
            raise InvalidInput("checkpoints-not-growing", "checkpoints must be at least 1 and grow. They do not.")
        object.__setattr__(self, "checkpoints", checkpoints)
        shape = (self.seeds, len(checkpoints))
        object.__setattr__(self, "regret", validation.array("regret", self.regret, shape))
        object.__setattr__(self, "final_value", validation.array("final_value", self.final_value, (self.seeds,)))

    def __repr__(self) -> str:
        return f"Run({self.environment}, {self.name}, {self._size})"

    @property
    def _size(self) -> str:
        """How much was simulated, in words."""
        return f"{counted(self.episodes, 'episode')}, {counted(self.seeds, 'seed')}"

    @property
    def name(self) -> str:
        """The label, or else learner and guarantee."""
        return self.label or f"{self.learner}, {self.certificate.guarantee}"

    def summary(self) -> dict[str, float | None]:
        """Mean final regret over seeds, and its 95 % interval (`reporting.intervals`); None for the ends with one seed."""
        mean, low, high = self.final_interval
        return {"mean": mean, "low": low, "high": high}

    @property
    def final_interval(self) -> SeedInterval:
        """Mean final regret over seeds with its interval."""
        return mean_interval(self.regret[:, -1])

    @property
    def share_of_random(self) -> float | None:
        """Mean final regret over that of acting uniformly at random; None where that is not known, or loses nothing."""
        lost = self.episodes * (self.optimal_value - self.random_value)
        return float(self.regret[:, -1].mean()) / lost if lost > 0 else None

    def as_json(self) -> dict[str, Json]:
        """The stable machine-readable form; a run that measures returns says so under one more key, `measure`."""
        measure = {} if self.measure == REGRET else {"measure": self.measure}
        return {
            "environment": self.environment,
            "learner": self.learner,
            "trust": self.trust,
            "episodes": self.episodes,
            "seeds": self.seeds,
            "schedule": self.schedule,
            "engine": self.engine,
            "regret": self.summary(),
            "share_of_random": self.share_of_random,
            "checkpoints": self.checkpoints.tolist(),
            "curve": self.regret.mean(axis=0).tolist(),
            "optimal_value": _or_null(self.optimal_value),
            "final_value": float(self.final_value.mean()),
            "seconds": self.seconds,
            "episodes_per_second": self.episodes * self.seeds / self.seconds if self.seconds > 0 else None,
            "certificate": self.certificate.as_json(),
            **measure,
        }

    def plot(self, path: str | Path, *, log: bool = False, per_episode: bool = False) -> Path:
        """Draw the curve into a PNG, SVG or PDF file."""
        from ..reporting.figures import regret_figure

        curve = (self.name, self.checkpoints, self.regret)
        return regret_figure(
            [curve], path, self.environment, log_x=log, log_y=log, per_episode=per_episode, measure=self.measure
        )

    def to_dict(self) -> dict[str, NDArray[np.generic]]:
        """The curves as columns: seed, episodes, and regret (or return), an entry for each checkpoint of each seed.

        `pandas.DataFrame` and `polars.DataFrame` take it as it is.
        """
        points = len(self.checkpoints)
        return {
            "seed": np.repeat(np.arange(self.seeds), points),
            "episodes": np.tile(self.checkpoints, self.seeds),
            self.measure: self.regret.ravel(),
        }

    def to_arrow(self) -> pyarrow.Table:
        """The columns of `to_dict` as an Arrow table."""
        import pyarrow

        return pyarrow.table(self.to_dict())

    def _repr_html_(self) -> str:
        """HTML for a notebook: what was run, its regret, and what was guaranteed."""
        value = written(float(self.final_value.mean()), digits=4)
        if math.isfinite(self.optimal_value):
            value += f" of {written(self.optimal_value, digits=4)}"
        rows = [
            (f"final {self.measure}", f"{self.final_interval.text(',.4g')}, {NAME}"),
            ("value of the last policy", value),
            *self.certificate.rows(),
        ]
        return html_table(f"{self.environment}, {self.name}: {self._size}", rows)

    @classmethod
    def check_folder(cls, folder: str | Path, *, replace: bool = False) -> Path:
        """The path, refused if a run could not be saved there; ask before a long run."""
        return check_free(folder, FILES, replace)

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Curves (Parquet), configuration, certificate and policy in a folder that appears complete or not at all."""
        from pyarrow import parquet

        target = self.check_folder(folder, replace=replace)
        plain = {name: value for name, value in vars(self).items() if name not in _APART}
        plain |= {"optimal_value": _or_null(self.optimal_value), "random_value": _or_null(self.random_value)}
        config = {**plain, "final_value": self.final_value.tolist()}
        with complete_folder(target) as draft:
            parquet.write_table(self.to_arrow(), draft / CURVES)
            write_config(draft, SCHEMA, config)
            self.certificate.save(draft / CERTIFICATE)
            np.savez_compressed(draft / POLICY, **self.policy.arrays())
        return target

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Read what `save` wrote; refuse anything else."""
        path = Path(folder)
        if not path.is_dir():
            raise FormatError(
                "run-folder-missing", f"{path} is not a folder that holds a run. Give one that was saved with --out."
            )
        certificate = Certificate.load(path / CERTIFICATE)
        with held_in(path, "a run"):
            return cls._read(path, certificate)

    @classmethod
    def _read(cls, path: Path, certificate: Certificate) -> Run:
        from pyarrow import parquet

        config = read_config(path, SCHEMA)
        for name in ("optimal_value", "random_value"):
            config[name] = math.nan if config.get(name) is None else config[name]
        table = parquet.read_table(path / CURVES)
        shape = (config["seeds"], -1)
        checkpoints = table["episodes"].to_numpy().reshape(shape)
        seeds = table["seed"].to_numpy().reshape(shape)
        if (checkpoints != checkpoints[0]).any() or (seeds != np.arange(len(seeds))[:, None]).any():
            raise ValueError("its seeds have different checkpoints")
        with np.load(io.BytesIO((path / POLICY).read_bytes()), allow_pickle=False) as stored:
            policy = _policy_of(stored)
        regret = table[config["measure"]].to_numpy().reshape(shape)
        return cls(**config, checkpoints=checkpoints[0], regret=regret, certificate=certificate, policy=policy)


def _policy_of(arrays: NpzFile) -> Policy | FeaturePolicy:
    """The policy that `arrays` gave."""
    if "features" in arrays:
        return FeaturePolicy.from_bytes(arrays["features"].tobytes())
    return Policy(arrays["probabilities"])


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None
