"""A policy of described features as a formula that one can read: weights of terms, as CSV, JSON, SQL, and Python without confide.

At step h the action with the largest score is taken, the first of equals; a score is the sum over terms of a weight times the term.
A term is a product of factors: u(age), u(age)^2, cos(pi u(age)), or [plan = pro], which is 1 or 0; u(age) is the number's place in
its public range, from -1 at the low end to 1 at the high one, and beyond them the same as there.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mdp.described import ACTION, IS, POWER, Factor, Term
from ...mdp.feature_policy import FeaturePolicy
from ...privacy import Certificate
from .exports import quoted, text_of

HEADER = ("step", "action", "term", "weight")
FORMAT = "confide.feature-policy-formula/1"


class Formula(NamedTuple):
    """terms: of states alone; weights: (H, A, m), of each step and action; with as few steps as differ."""

    policy: FeaturePolicy
    terms: tuple[Term, ...]
    weights: NDArray[np.float64]


def formula(policy: FeaturePolicy) -> Formula:
    """The weights of terms, in which the mix and numbers of actions are multiplied out."""
    features = policy.features
    held = dict(features.numbers)
    states = [tuple(factor for factor in term if factor.form != ACTION) for term in features.terms]
    terms = tuple(dict.fromkeys(states))
    weights = np.zeros((policy.horizon, features.actions, len(terms)))
    for action in range(features.actions):
        block = action if features.blocks > 1 else 0
        of_terms = policy.weights[:, block] @ features.mix
        for place, (term, state) in enumerate(zip(features.terms, states, strict=True)):
            times = np.prod([held[factor.name][action] for factor in term if factor.form == ACTION])
            weights[:, action, terms.index(state)] += of_terms[:, place] * times
    return Formula(policy, terms, weights)


def term_text(term: Term) -> str:
    """A term as people read it."""
    return " ".join(_factor_text(factor) for factor in term) or "1"


def _factor_text(factor: Factor) -> str:
    if factor.form == IS:
        return f"[{factor.name} = {factor.of}]"
    if factor.form == POWER:
        return f"u({factor.name})" + (f"^{factor.of}" if factor.of != 1 else "")
    return f"{factor.form}({factor.of if factor.of != 1 else ''}pi u({factor.name}))".replace("(pi", "(pi")


def as_csv(policy: FeaturePolicy) -> str:
    """One row for every step, action and term."""
    found = formula(policy)
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(HEADER)
    for step, action, place in np.ndindex(*found.weights.shape):
        named = policy.features.actions_named[action]
        rows.writerow((step, named, term_text(found.terms[place]), f"{found.weights[step, action, place]:.17g}"))
    return file.getvalue()


def as_json(policy: FeaturePolicy, certificate: Certificate) -> str:
    """JSON: inputs with their ranges, terms, weights by step and action, and the guarantee."""
    found = formula(policy)
    features = policy.features
    steps = [
        {name: row.tolist() for name, row in zip(features.actions_named, weights, strict=True)}
        for weights in found.weights
    ]
    body = {
        "schema": FORMAT,
        "inputs": [each.plain() for each in features.inputs],
        "actions": list(features.actions_named),
        "terms": [[factor.plain() for factor in term] for term in found.terms],
        "read": [term_text(term) for term in found.terms],
        "weights": steps,
        "guarantee": str(certificate.guarantee),
        "hides": certificate.guarantee.unit,
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def as_sql(policy: FeaturePolicy, step: str, first: int, table: str = "log") -> str:
    """A SELECT over a table with the columns of the log, which adds the action. step: the column of steps, counted from `first`."""
    found = formula(policy)
    features = policy.features
    ranges = {each.name: each.range for each in features.inputs if each.range is not None}
    places = [
        f"CASE WHEN {quoted(name)} <= {low!r} THEN -1.0 WHEN {quoted(name)} >= {high!r} THEN 1.0 "
        f"ELSE 2.0 * ({quoted(name)} - {low!r}) / ({high!r} - {low!r}) - 1.0 END AS {quoted('u ' + name)}"
        for name, (low, high) in ranges.items()
    ]
    values = [f"{_sql_term(term)} AS {quoted(f't {place}')}" for place, term in enumerate(found.terms)]
    scores = [
        f"CASE {quoted(step)} {' '.join(_sql_weights(found.weights[:, action], first))} END AS {quoted(f's {action}')}"
        for action in range(features.actions)
    ]
    best = [
        "WHEN "
        + " AND ".join(
            f"{quoted(f's {action}')} >= {quoted(f's {other}')}" for other in range(features.actions) if other != action
        )
        + f" THEN {text_of(name)}"
        for action, name in enumerate(features.actions_named[:-1])
    ]
    chosen = (
        " ".join(["CASE", *best, f"ELSE {text_of(features.actions_named[-1])} END"])
        if best
        else text_of(features.actions_named[0])
    )
    inner = quoted(table)
    for columns in (places, values, scores):
        inner = f"(SELECT *, {', '.join(columns)} FROM {inner}) AS scored" if columns else inner
    return f"SELECT *, {chosen} AS {quoted('advised')} FROM {inner}\n"


def _sql_term(term: Term) -> str:
    parts = []
    for factor in term:
        if factor.form == IS:
            parts.append(f"CASE WHEN {quoted(factor.name)} = {text_of(str(factor.of))} THEN 1.0 ELSE 0.0 END")
            continue
        place = quoted(f"u {factor.name}")
        if factor.form == POWER:
            parts += [place] * int(factor.of)
        else:
            parts.append(f"{factor.form.upper()}({np.pi!r} * {factor.of} * {place})")
    return " * ".join(parts) or "1.0"


def _sql_weights(weights: NDArray[np.float64], first: int) -> Iterator[str]:
    for step, row in enumerate(weights):
        terms = " + ".join(f"({float(weight)!r}) * {quoted(f't {place}')}" for place, weight in enumerate(row))
        yield f"WHEN {step + first} THEN {terms}"


PYTHON = '''"""{title}

{guarantee}
"""

import math

RANGES = {ranges}
CATEGORIES = {categories}
ACTIONS = {actions}
TERMS = {terms}
WEIGHTS = {weights}


def factor(observed, name, form, of):
    """One factor of a term."""
    if form == "is":
        return 1.0 if observed[name] == of else 0.0
    low, high = RANGES[name]
    place = 2 * (min(max(observed[name], low), high) - low) / (high - low) - 1
    return place**of if form == "power" else getattr(math, form)(math.pi * of * place)


def act(step, observed):
    """The action at a step, counted from 0, for one person: act(0, {example})."""
    for name, values in CATEGORIES.items():
        if observed[name] not in values:
            raise ValueError(f"{{name}} must be one of {{values}}")
    values = [math.prod(factor(observed, *each) for each in term) for term in TERMS]
    scores = [sum(weight * value for weight, value in zip(row, values)) for row in WEIGHTS[step]]
    return ACTIONS[scores.index(max(scores))]
'''


def as_python(policy: FeaturePolicy, certificate: Certificate) -> str:
    """A Python module that needs no other: `act(step, observed)`."""
    found = formula(policy)
    inputs = policy.features.inputs
    numbers = {each.name: each.range for each in inputs if each.range is not None}
    categories = {each.name: each.labels for each in inputs if each.labels}
    example = {each.name: each.labels[0] if each.range is None else each.range[0] for each in inputs}
    return PYTHON.format(
        title="A policy learned under differential privacy: the action whose score is largest.",
        guarantee=f"Guarantee: {certificate.guarantee}, which hides {certificate.guarantee.unit}.",
        ranges=numbers,
        categories=categories,
        actions=list(policy.features.actions_named),
        terms=[[(factor.name, factor.form, factor.of) for factor in term] for term in found.terms],
        weights=found.weights.tolist(),
        example=example,
    )
