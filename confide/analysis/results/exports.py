"""A policy in the forms that other tools take: JSON, SQL, a table of numpy, and answers for many people at once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import CURRENT_PRACTICE
from ...mdp.feature_policy import FeaturePolicy
from ...validation import Json

if TYPE_CHECKING:
    from .fit import Fit


def chosen(fit: Fit) -> NDArray[np.int64]:
    """(H, S), or (1, S) if all steps are alike: the most likely action, -1 for current practice."""
    best = fit.table().actions
    return best[:1] if (best == best[:1]).all() else best


def as_json(fit: Fit) -> str:
    """JSON: labels, the action at each step and state, and the guarantee."""
    best = chosen(fit)
    names = (*fit.actions, CURRENT_PRACTICE)
    steps: Json = "every" if len(best) == 1 and fit.table().probabilities.shape[0] > 1 else list(range(len(best)))
    body = {
        "schema": "confide.policy/1",
        "states": list(fit.states),
        "actions": list(fit.actions),
        "steps": steps,
        "policy": [{state: names[action] for state, action in zip(fit.states, row, strict=True)} for row in best],
        "guarantee": str(fit.certificate.guarantee),
        "hides": fit.certificate.guarantee.unit,
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def as_sql(fit: Fit) -> str:
    """A CASE expression over the columns of states, and of steps where they matter; what it leaves out follows current practice."""
    best, columns = chosen(fit), fit.config["columns"]
    numbered = fit.states == tuple(map(str, range(len(fit.states)))) and not fit.config.get("edges", {}).get("states")
    cuts = fit.config.get("edges", {}).get("states")
    step, state = quoted(columns.get("step") or "step"), quoted((columns.get("state") or ["state"])[0])
    first = int(fit.config.get("steps_from", 0))
    lines = []
    for h, row in enumerate(best):
        when = "" if len(best) == 1 else f"{step} = {h + first} AND "
        for action in sorted({int(action_number) for action_number in row if action_number >= 0}):
            inside = [s for s in range(len(row)) if row[s] == action]
            if cuts:
                where = " OR ".join(f"({_condition(fit.states[s])})" for s in inside)
                where = f"({where})"
            else:
                listed = ", ".join(str(s) if numbered else text_of(fit.states[s]) for s in inside)
                where = f"{state} IN ({listed})"
            lines.append(f"  WHEN {when}{where} THEN {text_of(fit.actions[action])}")
    if not lines:
        return f"-- {CURRENT_PRACTICE} everywhere\n{text_of(CURRENT_PRACTICE)}\n"
    return "\n".join(["CASE", *lines, f"  ELSE {text_of(CURRENT_PRACTICE)}", "END"]) + "\n"


def as_arrays(fit: Fit) -> dict[str, NDArray[np.generic]]:
    """`action` (H, S), -1 for current practice, `probability` (H, S, A), and the labels."""
    table = fit.table()
    return {
        "action": table.actions,
        "probability": table.probabilities,
        "states": np.array(fit.states),
        "actions": np.array(fit.actions),
    }


def predict(fit: Fit, inputs: Any, step: Any = None) -> NDArray[np.generic]:
    """(n,) the policy's actions for many people: labels where there are any, else numbers; `current practice` where it is followed.

    inputs: states as labels or numbers, vectors (n, d), or a table with the columns of the log. step: from 0, one for all or
    one each; by default the table's own column of steps, else 0.
    """
    if step is None:
        step = _steps(fit, inputs)
    if fit.formula is not None:
        return _predicted(fit, fit.formula, inputs, step)
    states = states_of(fit, inputs) if fit.config.get("vectors") is None else _points(fit, inputs)
    steps = np.broadcast_to(np.asarray(0 if step is None else step), (len(states),))
    best = fit.tabled.chosen(validation.indices("steps", steps, int(fit.config["horizon"])), states)
    fit.warn_of(bool((best >= 0).any()))
    names = np.array([*fit.actions, CURRENT_PRACTICE], dtype=object)
    return np.asarray(names[best])


def _predicted(fit: Fit, policy: FeaturePolicy, inputs: object, step: ArrayLike | None) -> NDArray[np.generic]:
    """(n,) the actions of a policy by described features, for a table with the columns that its description names."""
    features = policy.features
    columns = [np.asarray(_column(inputs, each.name)) for each in features.inputs]
    rows = features.checked(
        np.column_stack(
            [
                [each.encode(value) for value in column.tolist()]
                for each, column in zip(features.inputs, columns, strict=True)
            ]
        )
    )
    steps = np.broadcast_to(np.asarray(0 if step is None else step), (len(rows),))
    steps = validation.indices("steps", steps, policy.horizon)
    x, best = features.all_x(rows), np.zeros(len(rows), dtype=np.int64)
    for number in np.unique(steps):
        best[steps == number] = policy.chosen(int(number), x[steps == number])
    fit.warn_of(True)
    return np.array(features.actions_named, dtype=object)[best]


def _points(fit: Fit, inputs: Any) -> NDArray[np.float64]:
    """(n, d) the vectors of states in the inputs."""
    if _columns(inputs) is not None:
        columns = [np.asarray(_column(inputs, name), dtype=np.float64) for name in fit.config["vectors"]["columns"]]
        return np.column_stack(columns)
    return np.atleast_2d(np.asarray(inputs, dtype=np.float64))


def states_of(fit: Fit, inputs: Any) -> NDArray[np.int64]:
    """(n,) the numbers of states that are given as labels, as numbers, or by the columns of a table."""
    cuts = fit.config.get("edges", {}).get("states")
    if cuts:
        numbers = np.zeros(len(_column(inputs, next(iter(cuts)))), dtype=np.int64)
        for name, edges in cuts.items():
            numbers = numbers * (len(edges) + 1) + np.searchsorted(
                edges, np.asarray(_column(inputs, name), float), side="right"
            )
        return numbers
    name = (fit.config["columns"].get("state") or ["state"])[0]
    values = np.asarray(_column(inputs, name) if _columns(inputs) is not None else inputs)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise validation.refusal("states-not-one-each", "states", "one for each person", values.shape)
    if values.dtype.kind in "OUS":
        known = {label: number for number, label in enumerate(fit.states)}
        unknown = [index for index, entry in enumerate(values) if str(entry) not in known]
        if unknown:
            raise InvalidInput(
                "state-number-unknown",
                f"State number {unknown[0]} is none of the {len(known)} declared. Use their labels.",
            )
        return np.array([known[str(entry)] for entry in values], dtype=np.int64)
    return validation.indices("states", values, len(fit.states))


def _columns(inputs: Any) -> list[str] | None:
    """The names of a table's columns; None for what is no table."""
    if isinstance(inputs, Mapping):
        return list(inputs)
    names = getattr(inputs, "column_names", getattr(inputs, "columns", None))
    return None if names is None else list(names)


def _column(inputs: Any, name: str) -> Any:
    try:
        return inputs[name]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidInput(
            "export-column-missing", f"There is no column {name!r} in what is given. Give the columns of the log."
        ) from error


def _steps(fit: Fit, inputs: Any) -> Any:
    name = fit.config["columns"].get("step")
    names = _columns(inputs) or []
    return np.asarray(inputs[name]) - int(fit.config.get("steps_from", 0)) if name in names else None


def _condition(label: str) -> str:
    """The label of a state made of cut columns, such as `60 <= pulse < 90, fever >= 38`, as SQL."""
    parts = []
    for piece in label.split(", "):
        between = re.fullmatch(r"(\S+) <= (.+) < (\S+)", piece)
        single = re.fullmatch(r"(.+) (<|>=) (\S+)", piece)
        if between:
            parts.append(f"{between[1]} <= {quoted(between[2])} AND {quoted(between[2])} < {between[3]}")
        elif single:
            parts.append(f"{quoted(single[1])} {single[2]} {single[3]}")
    return " AND ".join(parts)


def quoted(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def text_of(text: str) -> str:
    """A text of SQL."""
    return "'" + text.replace("'", "''") + "'"
