"""A fit file: one commented file (`fit.toml`) in place of the forty flags of a command.

Paths in it are taken from where the file lies. Flags override it, and a fit keeps the settings it had in the end.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...data.trajectories.columns import ALIASES, parse
from ...errors import FormatError, InvalidInput

FILE = "fit.toml"
TEXT = ("delimiter", "encoding", "decimal", "header", "skip_rows", "time_format")
JUDGING = ("judge", "unconfounded")
SECTIONS: dict[str, tuple[str, ...]] = {
    "data": ("files", "table", *TEXT, "sort", "order_by", "in_order"),
    "columns": tuple(ALIASES),
    "problem": (
        *("states", "actions", "horizon", "model", "fixed_length", "reward_range", "return_range", "clip", "users"),
        *("missing", "groups", "weight_bound", "weight_mean"),
        *("support", "allowed", "rewards", "initial", "state_columns", "norm", "intercept", "propensity_floor"),
    ),
    "labels": ("source", "confirmed", "file", "states", "actions"),
    "edges": ("file", "states", "actions"),
    "features": ("format", "inputs", "actions", "terms", "numbers"),
    "guarantee": (
        "rho",
        "epsilon",
        "delta",
        "budget",
        "ledger",
        "mechanism",
        "visits",
        "reward_centre",
        "failure",
        *JUDGING,
    ),
    "learner": (
        *(
            "name",
            "pessimism",
            "bonus_scale",
            "features",
            "feature_bound",
            "clip_features",
            "split",
            "alone",
            "options",
        ),
    ),
    "card": ("title", "purpose", "contact", "limits"),
    "output": ("folder", "engine", "scheduler", "workers"),
}
PATHS = {"support", "allowed", "rewards", "initial", "features", "file", "ledger", "folder"}
FORMER = {"promise": "guarantee"}
"""Sections by their names before 0.2.0."""
RENAMED = {("learner", "name"): "learner", ("output", "folder"): "out"}
PUBLIC, DATA = "public", "data"


@dataclass(frozen=True)
class FitFile:
    """The settings of a file, section by section, with paths resolved. `options` are the same by a command's option names."""

    path: Path
    sections: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, path: str | Path) -> FitFile:
        """Read and check a fit file; what is not known is refused by name."""
        place = Path(path)
        try:
            document = tomllib.loads(place.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            raise InvalidInput(
                "fit-file-missing", f"There is no fit file {place}. Make one: confide init DATA."
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(
                "fit-file-not-toml", f"{place} cannot be read as TOML: {error}. Correct that line."
            ) from error
        sections: dict[str, dict[str, Any]] = {}
        for written, entries in document.items():
            name = FORMER.get(written, written)
            _known(place, f"section [{name}]", name, SECTIONS)
            if not isinstance(entries, dict):
                raise FormatError(
                    "fit-file-no-section",
                    f"{place} must have sections such as [problem]. {name} stands in none. Move it.",
                )
            for key in entries:
                _known(place, f"{key} in [{name}]", key, SECTIONS[name])
            sections[name] = {key: _resolved(place.parent, key, value) for key, value in entries.items()}
        return cls(place, sections)

    @property
    def sources(self) -> tuple[str, ...]:
        """The data it names."""
        files = self.sections.get("data", {}).get("files", [])
        return (files,) if isinstance(files, str) else tuple(map(str, files))

    def _described(self, named: bool) -> dict[str, object]:
        """The features that a section describes, if there is one. named: whether a file of them is named, too."""
        if named and "features" in self.sections:
            raise InvalidInput(
                "fit-file-features-twice",
                f"[features] of {self.path} describes features, and [learner] names a file of them. Leave one out.",
            )
        return {"features": dict(self.sections["features"])} if "features" in self.sections else {}

    @property
    def folder(self) -> Path:
        """The folder of its results."""
        return Path(self.sections.get("output", {}).get("folder", self.path.parent / "policy"))

    @property
    def options(self) -> dict[str, Any]:
        """The settings by the names of a command's options."""
        values: dict[str, Any] = {}
        for section, entries in self.sections.items():
            if section in ("columns", "labels", "edges", "features", "card"):
                continue
            for key, value in entries.items():
                if (section, key) not in (("data", "files"), ("learner", "options")):
                    values[RENAMED.get((section, key), key)] = value
        values["columns"] = dict(self.sections.get("columns", {}))
        values["card"] = dict(self.sections.get("card", {}))
        values |= self._described("features" in values)
        values["option"] = tuple(
            f"{key}={value}" for key, value in self.sections.get("learner", {}).get("options", {}).items()
        )
        if "header" in values and not isinstance(values["header"], str):
            values["header"] = ",".join(values["header"])
        for name in ("reward_range", "return_range"):
            if name in values:
                values[name] = tuple(values[name])
        labels, edges = self.sections.get("labels", {}), self.sections.get("edges", {})
        for name, section_entries, file in (("labels", labels, "file"), ("edges", edges, "file")):
            inline = {kind: section_entries[kind] for kind in ("states", "actions") if kind in section_entries}
            if inline and file in section_entries:
                raise InvalidInput(
                    "fit-file-said-twice", f"[{name}] of {self.path} names a file and says it itself. Leave one out."
                )
            if inline or file in section_entries:
                values[name] = inline or section_entries[file]
        if labels.get("source", PUBLIC) not in (PUBLIC, DATA):
            raise InvalidInput(
                "fit-file-labels-source",
                f'[labels] source of {self.path} must be "public" or "data". Got {labels["source"]!r}.',
            )
        if labels.get("source") == DATA:
            if labels.get("confirmed") is not True:
                raise InvalidInput(
                    "fit-file-labels-unconfirmed",
                    f"The labels in {self.path} were drafted from the data, and that a label occurs at all may reveal "
                    "a user. Look at each: if it could have been listed without the data, say confirmed = true in [labels].",
                )
            values["labels_source"] = DATA
        return values


def place_of(option: str) -> tuple[str, str] | None:
    """Section and key of a command's option in a fit file; None if it has none."""
    named = {option: place for place, option in RENAMED.items()}
    places = ((section, option) for section, keys in SECTIONS.items() if option in keys)
    return named.get(option) or next(places, None)


def _known(place: Path, what: str, name: str, known: Any) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, list(known), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
        raise FormatError("fit-file-key-unknown", f"{place}: {what} is not known. {hint}")


def _resolved(home: Path, key: str, value: Any) -> Any:
    """A value with its paths taken from where the fit file lies; what names a query or a data set is no path."""

    def path(text: str) -> str:
        return text if ":" in text.split("/")[0] or not text else str(home / Path(text).expanduser())

    if key == "files":
        return [path(str(file)) for file in ([value] if isinstance(value, str) else value)]
    return path(value) if key in PATHS and isinstance(value, str) else value


def sections_of(sources: tuple[str, ...], arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The sections of a fit file with the same settings as a command's arguments: of files their names only."""
    settings = {name: value for name, value in arguments.items() if value not in (None, (), "", False)}
    sections: dict[str, dict[str, Any]] = {}
    if sources:
        sections["data"] = {"files": [_name(text) for text in sources]}
    for section, keys in SECTIONS.items():
        if section in ("columns", "labels", "edges", "features", "output", "card"):
            continue
        for key in keys:
            option = RENAMED.get((section, key), key)
            if option in settings and (section, key) not in (("data", "files"), ("learner", "options")):
                value = settings[option]
                if isinstance(value, Mapping):  # described features have a section of their own
                    sections["features"] = dict(value)
                    continue
                sections.setdefault(section, {})[key] = _name(value) if key in PATHS else value
    columns = settings.get("columns") or {}
    columns = dict(parse(columns) if isinstance(columns, str) else columns)
    columns |= {role: settings[role] for role in ("propensity", "lost", "weight") if settings.get(role)}
    if columns:
        sections["columns"] = columns
    for name, file in (("labels", "file"), ("edges", "file")):
        entry = settings.get(name)
        if entry is not None:
            sections[name] = dict(entry) if isinstance(entry, Mapping) else {file: _name(entry)}
    if settings.get("card"):
        sections["card"] = dict(settings["card"])
    if settings.get("labels_source") == DATA:
        sections.setdefault("labels", {}).update(source=DATA, confirmed=True)
    if settings.get("option"):
        sections.setdefault("learner", {})["options"] = {
            key: value for key, _, value in (text.partition("=") for text in settings["option"])
        }
    return sections


def _name(path: Any) -> str:
    text = str(path)
    return text if ":" in text.split("/")[0] else Path(text).name
