"""Drafts a fit file from names and types of columns. Nothing that was counted or read stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...data.trajectories.columns import (
    ACTION,
    CUT,
    ENDED,
    EPISODE,
    NEXT_STATE,
    PROPENSITY,
    REWARD,
    STATE,
    STEP,
    USER,
    role_of,
)
from ...data.trajectories.places import parts_of
from ...data.trajectories.sources import DataPart
from ...data.trajectories.text_forms import TextForm
from ...data.trajectories.unpacking import unpacked
from ...errors import InvalidInput
from ..results.toml import literal

LIKE_PROPENSITY = re.compile("propensity|pscore", re.IGNORECASE)
MOST_LABELS = 1000
"""More different texts than that are no labels."""

ROLES = (USER, EPISODE, STEP, STATE, ACTION, REWARD, NEXT_STATE, ENDED, CUT, PROPENSITY)
MEANING = {
    USER: "who: one person, one value, in all files",
    EPISODE: "which of a person's episodes, if they have several",
    STEP: "0, 1, 2, ... within an episode; or say order_by in [data]",
    STATE: "what was known before acting",
    ACTION: "what was done",
    REWARD: "what it paid",
    NEXT_STATE: "the state that followed, if it is recorded",
    ENDED: "true in the last row of an episode",
    CUT: "true where an episode was not followed further",
    PROPENSITY: "with which probability the action was chosen, if logged; horizon 1",
}

HEAD = [
    "# A fit file for confide. Lines that begin with # say nothing until you take the # away.",
    "# Everything here is published with the results: write no number that you read off the data.",
    "# confide check fit.toml       confide fit fit.toml       confide forecast fit.toml",
    "",
]
SIZES = {
    STATE: "# states = 0                     # choose a public number: states are 0 .. states-1",
    ACTION: "# actions = 0                    # choose a public number",
}
PROBLEM = [
    "# horizon = 1                    # choose a public number: the most steps an episode can have",
    "# reward_range = [0, 1]          # between which numbers a step's reward lies, from what is publicly known",
    "# return_range = [0, 1]          # between which numbers all of an episode's rewards together lie, if that is narrower",
    "# fixed_length = true            # every episode has all its steps",
    '# users = "one"                  # people with several episodes: "limit" takes one of each, "all:20" up to 20',
    '# missing = "category"           # missing entries of states are one more category',
    '# groups = "sex=f,m"             # public groups of users: who gains and who loses',
    '# model = "per-step"             # moves depend on the step',
    "# propensity_floor = 0.01        # a public number below which no propensity lies",
    '# support = "possible.npy"       # public tables: possible transitions (S, A, S), allowed (S, A), rewards (S, A)',
]
REST = [
    "# [edges]",
    "# states = {pulse = [60, 90]}    # columns of numbers, cut at public edges",
    "",
    "[guarantee]",
    "rho = 0.5                        # about epsilon 5 at delta 1e-6; or epsilon = 1 with delta = 1e-6",
    "# budget = 1.0                   # what may ever be spent on this data, set once",
    "",
    "[learner]",
    'name = "apvi"',
    "",
    "# [card]                         # for the card that comes with the policy",
    '# contact = "data@example.org"',
    '# purpose = "whom to call first"',
    "",
    "[output]",
    'folder = "policy"',
    "",
]


class Look(NamedTuple):
    """What was seen of a table: names and types; how many rows, and how many different entries in states and actions. The
    numbers are
    for the user of the terminal alone.
    """

    types: dict[str, str]
    roles: dict[str, str]
    rows: int
    different: dict[str, int]
    labels: dict[str, list[str]]


def look(
    sources: Sequence[str], text: Mapping[str, Any], table: str | None, columns: Mapping[str, str], book: bool
) -> Look:
    """Look at a table's schema, and count. `aggregate`: list the different texts of states and actions too."""
    form = TextForm.declared(**text)
    parts = [
        unpacked(part, n) for n, part in enumerate(part for source in sources for part in parts_of(source, table, form))
    ]
    schema = parts[0].schema()
    types = {field.name: str(field.type) for field in schema}
    roles: dict[str, str] = {}
    for name in types:
        role = role_of(name)
        if role is not None:
            roles.setdefault(role, name)
    for role, name in columns.items():
        if name and name not in types:
            raise InvalidInput(
                "fit-file-column-missing", f"There is no column {name!r} for {role}. Found: {', '.join(types)}."
            )
        roles[role] = name
    coded = [roles[role] for role in (STATE, ACTION) if roles.get(role)]
    rows, seen = _count(parts, coded, types)
    labels: dict[str, list[str]] = {}
    for role, kind in ((STATE, "states"), (ACTION, "actions")):
        name = roles.get(role)
        if book and name and _texts(types[name]):
            if len(seen[name]) > MOST_LABELS:
                raise InvalidInput(
                    "fit-file-too-many-labels",
                    f"Column {name!r} has more than {MOST_LABELS:,} different texts: no labels, but text. Cut it.",
                )
            labels[kind] = sorted(str(part) for part in seen[name] if part is not None)
    return Look(types, roles, rows, {name: len(values) for name, values in seen.items()}, labels)


def _texts(type_: str) -> bool:
    return type_ in ("string", "large_string", "string_view") or type_.startswith("dictionary")


def _count(
    parts: Sequence[DataPart], columns: Sequence[str], types: Mapping[str, str]
) -> tuple[int, dict[str, set[Any]]]:
    rows, seen = 0, {name: set[Any]() for name in columns}
    texts = tuple(name for name in columns if _texts(types[name]))
    for part in parts:
        chosen = list(columns) or list(types)[:1]
        for batch in part.reading(texts, tuple(column for column in chosen if column not in texts)).batches(chosen):
            rows += batch.num_rows
            for name in columns:
                if len(seen[name]) <= MOST_LABELS:
                    seen[name].update(batch.column(name).unique().to_pylist())
    return rows, seen


def _likely(role: str, names: Iterable[str]) -> str:
    """The column to name in a comment: propensities are read on request only, whatever their column is called."""
    alike = (name for name in names if role == PROPENSITY and LIKE_PROPENSITY.search(name))
    return next(alike, "NAME")


def draft(sources: Sequence[str], seen: Look, text: Mapping[str, Any], table: str | None, home: Path) -> str:
    """The text of the draft: names and types as seen, and what only people can say, commented out."""
    said = {"files": [_from(home, source) for source in sources], **text, **({"table": table} if table else {})}
    data = [f"{key} = {literal(value)}" for key, value in said.items()]
    if not seen.roles.get(STEP):
        data.append('# order_by = "time"             # a column that tells the order, or in_order = true')
    sections = {"data": data, "columns": _columns(seen), "problem": _problem(seen), "labels": _labels(seen)}
    lines = [line for name, section in sections.items() for line in (f"[{name}]", *section, "")]
    return "\n".join([*HEAD, *lines, *REST])


def _columns(seen: Look) -> list[str]:
    """The section that names each role's column, and those that have none."""
    lines = []
    for role in ROLES:
        name = seen.roles.get(role)
        line = f"{role} = {literal(name or _likely(role, seen.types))}"
        lines.append(f"{'' if name else '# '}{line:<32} # {MEANING[role]}")
    unused = [name for name in seen.types if name not in seen.roles.values()]
    if unused:
        lines.append(f"# not used: {', '.join(unused[:12])}{' ...' if len(unused) > 12 else ''}")
    return lines


def _problem(seen: Look) -> list[str]:
    """The section of sizes; texts are counted by their labels."""
    texts = {role for role in (STATE, ACTION) if role in seen.roles and _texts(seen.types[seen.roles[role]])}
    return [line for role, line in SIZES.items() if role not in texts] + PROBLEM


def _labels(seen: Look) -> list[str]:
    """The section of labels: those that were listed on request, else an example."""
    if not seen.labels:
        return [
            '# states = ["well", "ill"]     # every label that can occur, from a public source or your own head',
            '# actions = ["wait", "treat"]',
        ]
    return [
        'source = "data"                # these came from the data; the certificate will say so',
        "confirmed = false              # true once you have seen that each could have been listed without the data",
        *(f"{kind} = {literal(names)}" for kind, names in seen.labels.items()),
    ]


def _from(home: Path, source: str) -> str:
    if ":" in source.split("/")[0]:
        return source
    path = Path(source).expanduser()
    try:
        return str(path.resolve().relative_to(home.resolve()))
    except ValueError:
        return str(path.resolve())
