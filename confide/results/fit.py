"""What a fit on real data leaves behind: a policy, the release it was learned from, and what was promised.

Everything here may be published: it is the release, what was computed from it, and what was public before.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError, InvalidInput
from ..mdp import Policy, Spec
from ..mdp.knowledge import Knowledge
from ..privacy import Certificate
from ..releases.release_bytes import pack_file, unpack_file
from .folder import check_free, whole

SCHEMA = "confide.fit/1"
POLICY, TABLE, RELEASE, CERTIFICATE, REPORT, CONFIG = (
    "policy.npz",
    "policy.csv",
    "release",
    "certificate.json",
    "report.html",
    "config.json",
)
FILES = (POLICY, TABLE, RELEASE, CERTIFICATE, REPORT, CONFIG)
HEADER = ("step", "state", "action", "probability", "value")

_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A policy learned from a private release.

    policy: for the declared states. values: (H+1, S), what is surely reached from each step and state on, as far as
    the learner can tell, in learners' units: sums of rewards in [0, 1]. knowledge: what was public beforehand.
    releases: all that was ever learned from the data, as bytes by name. findings: plain numbers computed from them, in
    people's units.
    """

    policy: Policy
    values: NDArray[np.float64]
    knowledge: Knowledge
    releases: dict[str, bytes]
    certificate: Certificate
    findings: dict[str, Any]
    config: dict[str, Any]
    states: tuple[str, ...]
    actions: tuple[str, ...]
    seconds: float = field(default=0.0)

    def __repr__(self) -> str:
        return f"Fit({self.config.get('learner')}, {self.certificate.guarantee})"

    @property
    def users(self) -> int:
        """How many people the data held: public, as neighbouring data sets have equally many."""
        return int(self.findings["users"])

    def act(self, step: int, state: int | str, rng: np.random.Generator | None = None) -> int | str:
        """An action for one person. Whoever asks with a label is answered with a label."""
        if not isinstance(state, str):
            return self.policy.act(step, state, rng)
        number = self.states.index(validation.choice("state", state, self.states))
        return self.actions[self.policy.act(step, number, rng)]

    def as_json(self) -> dict[str, Any]:
        """The stable machine-readable form."""
        return {
            "value": self.findings["value"],
            "lower": self.findings["lower"],
            "users": self.users,
            "seconds": self.seconds,
            "certificate": self.certificate.as_json(),
        }

    def report(self, path: str | Path) -> Path:
        """Write the report, one HTML file that needs no network."""
        target = Path(path)
        target.write_text(self._page(), encoding="utf-8")
        return target

    def _page(self) -> str:
        from ..reporting.offline_report import render

        return render(
            policy=self.policy,
            values=self.values,
            certificate=self.certificate,
            findings=self.findings,
            config=self.config,
            states=self.states,
            actions=self.actions,
        )

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Everything in a folder that appears complete or not at all."""
        target = check_free(folder, FILES, replace)
        page = self._page()
        try:
            with whole(target) as draft:
                self._write(draft, page)
        except OSError as error:
            raise InvalidInput(
                f"{target} could not be written: {error.strerror or type(error).__name__}. Nothing was left there."
            ) from error
        return target

    def _write(self, draft: Path, page: str) -> None:
        config = {
            "schema": SCHEMA,
            **self.config,
            "findings": self.findings,
            "seconds": self.seconds,
            "names": {"states": list(self.states), "actions": list(self.actions)},
        }
        (draft / CONFIG).write_text(
            json.dumps(config, indent=2, allow_nan=False, default=_plain) + "\n", encoding="utf-8"
        )
        self.certificate.save(draft / CERTIFICATE)
        (draft / RELEASE).write_bytes(pack_file(self.releases))
        (draft / REPORT).write_text(page, encoding="utf-8")
        arrays = {"probabilities": self.policy.probabilities, "values": self.values, **_tables(self.knowledge)}
        np.savez_compressed(draft / POLICY, **arrays)  # type: ignore[arg-type]
        with open(draft / TABLE, "w", encoding="utf-8", newline="") as file:
            self._write_table(csv.writer(file))

    def _write_table(self, rows: Any) -> None:
        """The most likely action of every step and state, with labels."""
        rows.writerow(HEADER)
        best, chance = self.policy.actions, self.policy.probabilities.max(axis=-1)
        for step, state in np.ndindex(best.shape):
            numbers = f"{chance[step, state]:.6g}", f"{self.values[step, state]:.6g}"
            rows.writerow((step, self.states[state], self.actions[best[step, state]], *numbers))

    @classmethod
    def load(cls, folder: str | Path) -> Fit:
        """Read what `save` wrote; refuse anything else."""
        path = Path(folder)
        if not path.is_dir():
            raise FormatError(f"{path} is not a folder that holds a policy. Give one that was made with fit --out.")
        certificate = Certificate.load(path / CERTIFICATE)
        try:
            return cls._read(path, certificate)
        except (ConfideError, *_UNREADABLE) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise FormatError(f"{path} does not hold a policy this version can read: {reason}.") from error

    @classmethod
    def _read(cls, path: Path, certificate: Certificate) -> Fit:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        found = config.pop("schema", None) if isinstance(config, dict) else type(config).__name__
        if found != SCHEMA:
            raise ValueError(f"its schema is {found!r}, not {SCHEMA!r}")
        names, findings, seconds = config.pop("names"), config.pop("findings"), float(config.pop("seconds"))
        # Opened here, because numpy leaves a file that is none of its own open.
        with open(path / POLICY, "rb") as file, np.load(file, allow_pickle=False) as stored:
            policy = Policy(stored["probabilities"])
            horizon, states, actions = policy.probabilities.shape
            values = validation.array("values", stored["values"], (horizon + 1, states))
            knowledge = _knowledge(stored, Spec(states, actions, horizon, config["model"]), config)
        if (len(names["states"]), len(names["actions"])) != (states, actions):
            raise ValueError("its labels do not fit its policy")
        releases = unpack_file((path / RELEASE).read_bytes())
        labels = tuple(map(str, names["states"])), tuple(map(str, names["actions"]))
        return cls(policy, values, knowledge, releases, certificate, findings, config, *labels, seconds)


def load(folder: str | Path) -> Fit:
    """The policy in a folder, with everything that came with it."""
    return Fit.load(folder)


def reserve(folder: str | Path, size: int) -> None:
    """Refuse a folder whose disk has no room for `size` bytes: better before anything is spent than after."""
    path = Path(os.path.abspath(folder))
    parent = next(above for above in path.parents if above.is_dir())
    place = parent / f".{path.name}.{secrets.token_hex(8)}.partial"
    try:
        with open(place, "wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInput(
            f"{folder} needs room for about {max(size / 1e6, 0.1):,.1f} MB: {reason}. Free some, or go elsewhere."
        ) from error
    finally:
        place.unlink(missing_ok=True)


def _tables(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """The public tables, over the declared states."""
    states = knowledge.states
    found: dict[str, NDArray[Any]] = {
        "support": np.packbits(knowledge.support[:states]),
        "allowed": knowledge.allowed[:states],
    }
    if knowledge.rewards is not None:
        found["rewards"] = knowledge.rewards[:, :states]
    if knowledge.initial is not None:
        found["initial"] = knowledge.initial[:states]
    return found


def _knowledge(stored: Any, spec: Spec, config: dict[str, Any]) -> Knowledge:
    ends = bool(config["ends"])
    shape = (spec.states, spec.actions, spec.states + ends)
    bits = np.unpackbits(stored["support"], count=int(np.prod(shape))).reshape(shape).astype(np.bool_)
    rewards = stored["rewards"] if "rewards" in stored.files else None
    if rewards is not None and len(rewards) == 1:
        rewards = rewards[0]
    initial = stored["initial"] if "initial" in stored.files else None
    return Knowledge.declared(spec, bits, stored["allowed"], rewards, initial, ends, config["end_reward"])


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
