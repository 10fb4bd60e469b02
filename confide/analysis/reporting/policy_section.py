"""The parts of a report that show the policy itself: what it says, and where it leaves current practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ...mdp import AS_NOW, Policy
from ...mdp.critic import VectorPolicy
from . import drawing
from .numbers import each, share, written
from .pages import table, word

LARGEST_PICTURE = 900
"""Cells, steps times states, up to which a policy is drawn."""

LONGEST_TABLE = 60
"""States up to which a policy that is the same at every step is written as a table."""

MOST_COLOURS = len(drawing.COLOURS)


def policy_section(policy: Policy | VectorPolicy, states: Sequence[str], actions: Sequence[str]) -> str:
    """The policy itself: a table if steps do not matter, a picture if they do, a sentence if it is too large."""
    if isinstance(policy, VectorPolicy):
        return (
            f"<p>For each of {policy.horizon} steps, a rule for any state of {policy.features.width} numbers, which no "
            "table could hold. In Python: <code>confide.load(folder).act(step, state)</code>.</p>"
        )
    probabilities = policy.probabilities
    horizon, count, size = probabilities.shape
    same = bool((probabilities == probabilities[:1]).all()) and bool((policy.actions == policy.actions[:1]).all())
    if same and count <= LONGEST_TABLE:
        return _rules(policy, states, actions)
    if horizon * count > LARGEST_PICTURE or size > MOST_COLOURS:
        return (
            f"<p>For each of {horizon} steps and {count:,} states: too large to draw. It is in policy.csv, one row for "
            "each, with labels.</p>"
        )
    best = probabilities.argmax(axis=-1)
    certain = probabilities.max(axis=-1) > 1 - 1e-9 if policy.as_now is None else ~policy.as_now
    names = [str(label) for label in states], [str(label) for label in actions]
    picture = drawing.both(lambda width: drawing.grid(best, certain, *names, width))
    remark = "; the colour is what is done most often there." if policy.complete else "."
    note = f"Columns: steps; rows: states. Pale: as now{remark}"
    return f'<figure class="scroll">{picture}<figcaption>{note}</figcaption></figure>'


def _rules(policy: Policy, states: Sequence[str], actions: Sequence[str]) -> str:
    """The policy as a table with one row for each state, where it is the same at every step."""
    best, chance = policy.actions[0], policy.probabilities[0].max(axis=-1)
    rows = []
    for state, action, sure in zip(states, best.tolist(), chance.tolist(), strict=True):
        if action < 0:
            rows.append((escape(str(state)), f'<span class="soft">{AS_NOW}</span>'))
            continue
        colour = drawing.COLOURS[action] if action < MOST_COLOURS else drawing.SOFT
        often = "" if sure > 1 - 1e-9 else f' <span class="soft">({_kept_together(share(sure))})</span>'
        dot = f'<span class="dot" style="background:{colour}"></span>'
        rows.append((escape(str(state)), f"{dot}{escape(str(actions[action]))}{often}"))
    every = "" if len(policy.probabilities) == 1 else "<p>The same at every step.</p>"
    return every + table(("in", "do"), rows)


def differences_section(differences: Sequence[Mapping[str, Any]], noun: str, horizon: int) -> str:
    """Where the policy leaves current practice, the greatest differences first, as `explain` gives them."""
    if not differences:
        return ""
    rows = []
    for difference in differences:
        gain = difference.get("gain")
        worth = "not judged"
        if gain is not None:
            span = f"{written(gain['low'], sign=True)} to {written(gain['high'], sign=True)}"
            worth = f'{written(gain["value"], sign=True)} <span class="soft">({span})</span>'
        rests = f"{written(round(difference['rests']))} &plusmn; {written(round(difference['error']))}"
        when = _steps(difference["steps"], horizon)
        rows.append(
            (
                escape(str(difference["state"])) + when,
                escape(str(difference["action"])),
                f"{escape(str(difference['instead']))} ({_kept_together(share(difference['share']))})",
                worth,
                rests,
            )
        )
    heads = ("in", "do", "now mostly", f"alone worth, {each(noun)}", "rests on counted steps")
    interval = word("interval", "95&nbsp;% interval")
    return (
        f"<p>The {len(rows)} differences that matter most. What each is worth is judged by itself, with a {interval}: everybody "
        "goes on as now but for this one, so they do not add up.</p>" + table(heads, rows)
    )


def _kept_together(text: str) -> str:
    return text.replace(" ", "&nbsp;")


def _steps(steps: Sequence[int], horizon: int) -> str:
    if len(steps) == horizon:
        return ""
    numbers = ", ".join(str(step + 1) for step in steps)
    if len(steps) > 2 and list(steps) == list(range(steps[0], steps[-1] + 1)):
        numbers = f"{steps[0] + 1} to {steps[-1] + 1}"
    noun = "step" if len(steps) == 1 else "steps"
    return f' <span class="soft">({noun} {numbers})</span>'
