"""The report of a fit on real data: one HTML file without network or script. Everything in it is public already:
it shows the release's consequences, the guarantee, and the policy; no count of the data stands in it.

The parts of a report that show the policy itself: what it says, and where it leaves current practice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any, cast

import numpy as np

from ... import validation
from ...mdp import CURRENT_PRACTICE, Policy
from ...mdp.critic import VectorPolicy
from ...mdp.feature_policy import FeaturePolicy
from ...privacy import Certificate, Guarantee
from . import drawing
from .group_gains import groups_section, sentences_of
from .numbers import each, plural, share, written
from .pages import NOTEBOOK, glossary, page, pairs, section, table, word
from .stated import Findings, Power, StatedAlone, StatedDifference, with_labels

LARGEST_PICTURE = 900
"""Cells, steps times states, up to which a policy is drawn."""

LONGEST_TABLE = 60
"""States up to which a policy that is the same at every step is written as a table."""

MOST_COLOURS = len(drawing.COLOURS)


def formula_section(policy: FeaturePolicy) -> str:
    """A policy by described features, in a sentence."""
    return (
        f"<p>For each of {policy.horizon} steps, a formula: the action with the largest score, which is a weighted sum of "
        f"{len(policy.features.terms)} terms made of {escape(', '.join(each.name for each in policy.features.inputs))}. "
        "All weights are in policy.csv; <code>confide export folder --to sql</code>, or <code>py</code>, writes it as "
        "SQL or as Python that needs no other package.</p>"
    )


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
    certain = probabilities.max(axis=-1) > 1 - 1e-9 if policy.unchanged is None else ~policy.unchanged
    names = [str(label) for label in states], [str(label) for label in actions]
    picture = drawing.both(lambda width: drawing.grid(best, certain, *names, width))
    remark = "; the colour is what is done most often there." if policy.complete else "."
    note = f"Columns: steps; rows: states. Pale: no change{remark}"
    return f'<figure class="scroll">{picture}<figcaption>{note}</figcaption></figure>'


def _rules(policy: Policy, states: Sequence[str], actions: Sequence[str]) -> str:
    """The policy as a table with one row for each state, where it is the same at every step."""
    best, chance = policy.actions[0], policy.probabilities[0].max(axis=-1)
    rows = []
    for state, action, sure in zip(states, best.tolist(), chance.tolist(), strict=True):
        if action < 0:
            rows.append((escape(str(state)), f'<span class="soft">{CURRENT_PRACTICE}</span>'))
            continue
        colour = drawing.COLOURS[action] if action < MOST_COLOURS else drawing.SOFT
        often = "" if sure > 1 - 1e-9 else f' <span class="soft">({_kept_together(share(sure))})</span>'
        dot = f'<span class="dot" style="background:{colour}"></span>'
        rows.append((escape(str(state)), f"{dot}{escape(str(actions[action]))}{often}"))
    every = "" if len(policy.probabilities) == 1 else "<p>The same at every step.</p>"
    return every + table(("in", "do"), rows)


def differences_section(differences: Sequence[StatedDifference[str]], noun: str, horizon: int) -> str:
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
    heads = ("in", "do", "practice mostly", f"gain of this one, {each(noun)}", "rests on counted steps")
    interval = word("interval", "95&nbsp;% interval")
    return (
        f"<p>The {len(rows)} differences that matter most. The value of each is estimated by itself, with a {interval}: current "
        "practice is unchanged but for this one, so they do not add up.</p>" + table(heads, rows)
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


def render(
    *,
    policy: Policy | VectorPolicy | FeaturePolicy,
    certificate: Certificate,
    findings: Findings,
    config: dict[str, Any],
    states: Sequence[str],
    actions: Sequence[str],
) -> str:
    """The report as an HTML page. findings: what was computed from the release, in people's units; config: public choices."""
    unit, steps = noun(certificate.guarantee), int(config["horizon"])
    differences = with_labels(findings.get("differences") or [], states, actions)
    if config.get("features") is not None:
        described = formula_section(cast(FeaturePolicy, policy))
    else:
        described = policy_section(cast("Policy | VectorPolicy", policy), states, actions)
    sections = [
        _verdict(findings, certificate.guarantee),
        section(f"The guarantee for every {unit}", _promise(certificate)),
        section("The value of the policy", _worth(findings, steps, unit)),
        _groups(findings, unit),
        section("Does the table tell all?", _table_tells(findings, unit)),
        section("Where it leaves current practice", differences_section(differences, unit, steps)),
        section("How much of the problem the data covers", _coverage(findings)),
        section("What privacy costs", _cost(findings, certificate.guarantee)),
        section("The policy", described),
        section("The certificate", pairs(certificate.rows())),
        section("What the words mean", glossary()),
    ]
    learner = escape(str(config.get("learner", "")))
    title = "A policy that hides the people it was learned from"
    foot = (
        f"<footer>Learned by {learner} with confide {escape(certificate.versions.get('confide', ''))}. Everything on this "
        "page is computed from the private release beside it, or was public before.</footer>"
    )
    return page(title, "\n".join([*(section for section in sections if section), foot]))


def noun(promise: Guarantee) -> str:
    """The unit that a guarantee hides, as a noun: a person, or an episode where nothing tells people apart."""
    return "episode" if promise.unit.startswith("one episode") else "person"


def summary(findings: Findings, certificate: Certificate, steps: int) -> str:
    """HTML for a notebook: whether the policy is better, and a picture of its value."""
    promise = certificate.guarantee
    body = _verdict(findings, promise) + _worth(findings, steps, noun(promise))
    return f'{NOTEBOOK}<div class="confide">{re.sub(r"</?a[^>]*>", "", body)}</div>'


def _verdict(findings: Findings, promise: Guarantee) -> str:
    gain, people, unit = findings.get("gain"), int(findings["users"]), noun(promise)
    units = plural(unit)
    if gain is None and findings.get("judged_said"):
        return _adopted(findings, unit, promise)
    if gain is None:
        value, lower = _number(findings.get("value")), _number(findings.get("lower"))
        worth = f"of value {value} {each(unit)}" if findings.get("value") is not None else "not evaluated"
        return (
            f"<header><h1>Whether this policy is better than current practice was not estimated.</h1>"
            f"<p>It is {worth}, and at least {lower} as far as its learner can tell. Learned from {people:,} {units}.</p></header>"
        )
    sure = 100 * (findings["confidence"] or 0.0)
    span = f"between {_number(gain['low'])} and {_number(gain['high'])}"
    better = findings.get("recommended", gain["sure"])
    judged, people_said = findings.get("judged"), ""
    if better:
        headline = f"This policy is better than current practice, by {_number(gain['value'])} {each(unit)}."
        sentence = f"With {sure:g}&nbsp;% confidence the gain is {span}."
    elif judged is not None and judged["sure"]:
        headline = (
            f"Followed in {10 * judged['alpha']:g} of 10 decisions this policy is better than current practice, by "
            f"{_number(judged['gain'])} {each(unit)}. The whole of it is not recommended."
        )
        part = f"{_number(judged['low'])} and {_number(judged['high'])}"
        sentence = (
            f"With {sure:g}&nbsp;% confidence that gain is between {part}; of the whole policy the table says {span}."
        )
    elif gain["high"] < 0:
        headline = "No change recommended: this policy is worse than current practice. Do not use it."
        sentence = f"With {sure:g}&nbsp;% confidence the difference is {span}."
    else:
        headline = "No change recommended: it cannot be said that this policy is better than current practice."
        guess = written(gain["value"], sign=True)
        sentence = f"The best guess is {guess} {each(unit)}; with {sure:g}&nbsp;% confidence the difference is {span}."
        if gain["sure"]:
            sentence = (
                f"By the table alone the gain is {guess} {each(unit)}; with {sure:g}&nbsp;% confidence it is {span}."
            )
        else:
            people_said = _people(findings, units) + _power(findings, unit)
    colour = "yes" if better else "no"
    told = {
        "By how much, how surely?": sentence + people_said,
        "Resting on what?": _sentences(
            [*(findings.get("assumes") or []), *(check["said"] for check in findings.get("checks") or [])]
        ),
        "Who checked it?": _sentences([findings["judged_said"]] if findings.get("judged_said") else []),
        "For whom, for whom not?": _sentences(sentences_of(findings.get("groups") or [])),
        "Where not?": _carried(findings, units),
    }
    rows = "".join(f"<dt>{name}</dt><dd>{said.strip()}</dd>" for name, said in told.items() if said)
    return (
        f'<header class="{colour}"><h1>{headline}</h1><dl class="verdict">{rows}</dl>'
        f'<p class="soft">Learned from {people:,} {units}, under the {word("promise", "guarantee")} {escape(str(promise))}.</p>'
        "</header>"
    )


def _sentences(lines: Sequence[str]) -> str:
    """Lines as sentences."""
    return " ".join(f"{escape(line[0].upper() + line[1:])}." for line in lines)


def _adopted(findings: Findings, unit: str, promise: Guarantee) -> str:
    """The verdict where no value of the whole policy is stated, but others judged a share of its decisions."""
    judged, people = findings.get("judged"), int(findings["users"])
    better = judged is not None and bool(judged["sure"])
    headline = "No change recommended: it cannot be said that this policy is better than current practice."
    sentence = ""
    if judged is not None:
        often = f"{10 * judged['alpha']:g} of 10 decisions"
        span = f"between {_number(judged['low'])} and {_number(judged['high'])}"
        sentence = f"Followed in {often}, the best guess of its gain is {written(judged['gain'], sign=True)} {each(unit)}; with "
        sentence += f"95&nbsp;% confidence it is {span}."
        if better and judged["alpha"] < 1:
            headline = (
                f"Followed in {often} this policy is better than current practice, by {_number(judged['gain'])} {each(unit)}. "
                "The whole of it is not recommended."
            )
        elif better:
            headline = f"This policy is better than current practice, by {_number(judged['gain'])} {each(unit)}."
    rests = _sentences([*(findings.get("assumes") or []), findings["judged_said"]])
    return (
        f'<header class="{"yes" if better else "no"}"><h1>{headline}</h1><p>{sentence} {rests}</p>'
        f'<p class="soft">Learned from {people:,} {plural(unit)}, under the {word("promise", "guarantee")} '
        f"{escape(str(promise))}.</p></header>"
    )


def _power(findings: Findings, unit: str) -> str:
    """Which gain would have been found, as a sentence of its own."""
    said = power_said(findings, unit).replace(" %", "&nbsp;%")
    return said and f" {said[0].upper()}{said[1:]}."


def _people(findings: Findings, units: str) -> str:
    """How many people it would take to be sure, if the policy is as good as it looks."""
    sure = findings.get("needed_to_be_sure")
    if sure is None:
        return ""
    return f" If it is as good as it looks, about {_number(sure)} {units} would be enough to be sure."


def _carried(findings: Findings, units: str) -> str:
    """How far the release carries, in a sentence or two."""
    coverage, needed = findings.get("coverage"), findings.get("needed")
    if coverage is None:
        return ""
    sentences = (
        " It leaves current practice only where the private data show something better; elsewhere, for "
        f"{_share(coverage['kept'])} of its steps, people follow {word('current-practice', 'current practice')}. "
        f"{_share(coverage['pairs'])} of all situations and actions {word('stands', 'exceed')} the privacy {word('noise', 'noise')}"
    )
    return sentences + (f"; the average one does from {_number(needed)} {units} on." if needed is not None else ".")


def _promise(certificate: Certificate) -> str:
    true = certificate.guarantee
    if not true.private:
        return "<p><strong>Nothing.</strong> No noise was added: this policy may reveal people in the data.</p>"
    hidden = escape(true.unit)
    row = true.as_json()
    epsilon, delta = (validation.number(name, row[name] or 0.0) for name in ("epsilon", "delta"))
    odds = np.exp(min(epsilon, 700.0))
    text = (
        f"<p>An attacker who sees this policy, and everything else in this folder, learns almost the same whether or not {hidden} "
        "was in the data. "
    )
    if odds < 1e4:
        text += (
            f"Whatever they suspected of one person beforehand, their odds change by at most a factor of {written(odds)}"
            + (f", except with probability 1 in {written(1 / delta)}" if delta else "")
            + ".</p>"
        )
    else:
        text += f"But epsilon is {written(epsilon)}: that is a weak guarantee.</p>"
    nominal = certificate.promises[0].nominal
    if nominal is not None:
        text += (
            f"<p>The noise is a paper's, which claims {escape(str(nominal))}. What is true is {escape(str(true))}.</p>"
        )
    return text + f'<p class="soft">In one line: {escape(str(true))}; one change is: {escape(true.neighbours)}.</p>'


def _worth(findings: Findings, steps: int, unit: str) -> str:
    practice, linear = findings.get("practice"), bool(findings.get("linear"))
    best, low, high = (findings.get("value"), findings.get("low"), findings.get("high"))
    if practice is None or best is None or low is None or high is None:
        return ""
    rows = [
        ("current practice", practice["value"], practice["low"], practice["high"], None),
        ("this policy", best, low, high, None if linear else findings.get("lower")),
    ]
    alone = findings.get("alone")
    if alone is not None and not linear:
        rows.append(("fully automated", alone["value"], alone["low"], alone["high"], None))
    sure = 100 * (findings["confidence"] or 0.0)
    picture = drawing.both(lambda width: drawing.intervals(rows, f"value, for each {unit}", width))
    note = (
        f"Sums of rewards over {steps} step{'' if steps == 1 else 's'}. Dot: estimate; bar: {sure:g}&nbsp;% "
        f"{word('interval', 'interval')}, noise and sampling error included"
        + ("; tick: what is surely reached, with 99&nbsp;% confidence." if rows[1][4] is not None else ".")
        + (_alone(alone) if alone is not None and not linear else "")
        + (" It holds as far as values are linear in the features." if linear else "")
    )
    return f"<figure>{picture}<figcaption>{note}</figcaption></figure>"


def _table_tells(findings: Findings, unit: str) -> str:
    """What those who judge say of the table: the gain of the same adoption by either, and how far every check is off."""
    judged = findings.get("judged")
    if judged is None:
        return f"<p>{escape(findings['judged_said'])}.</p>" if findings.get("judged_said") else ""
    rows = [("those who judge", judged["gain"], judged["low"], judged["high"], None)]
    foretold = findings.get("foretold")
    if foretold is not None:
        rows.append(("the table", foretold["value"], foretold["low"], foretold["high"], None))
    picture = drawing.both(lambda width: drawing.intervals(rows, f"gain of the adoption, for each {unit}", width))
    alarms = ", ".join(findings.get("alarms") or []) or "none"
    furthest = max((abs(number) for number in findings.get("tested") or []), default=0.0)
    note = (
        f"The same adoption, followed in {10 * judged['alpha']:g} of 10 decisions, by {judged['people']:,} {plural(unit)} who were "
        f"not counted, and by the table that was learned from the others. Alarms: {alarms}. The furthest number of the test is "
        f"{furthest:.1f} standard deviations from what it would be if the state held all that matters."
    )
    said = escape(findings["judged_said"])
    return f"<p>{said[0].upper()}{said[1:]}.</p><figure>{picture}<figcaption>{note}</figcaption></figure>"


def _groups(findings: Findings, unit: str) -> str:
    """What each public group gains, where an adoption was judged."""
    judged = findings.get("judged")
    return "" if judged is None else groups_section(findings.get("groups") or [], judged["alpha"], unit)


def _alone(alone: StatedAlone) -> str:
    sentence = (
        " The value shown is that of users who go on as before wherever it recommends no change. A fully automated policy would "
        "play estimated frequencies of current practice instead"
    )
    unknown = ", whose value the release does not support: those frequencies are not exported unless you pass --alone."
    return sentence + (unknown if alone["vacuous"] else ".")


def _coverage(findings: Findings) -> str:
    coverage = findings.get("coverage")
    if coverage is None:
        return ""
    shares = [
        ("situations and actions tried", coverage["pairs"]),
        ("current practice in them", coverage["practice"]),
        ("steps without change", coverage["kept"]),
    ]
    return (
        f"<p>Of all situations and allowed actions, {_share(coverage['pairs'])} exceed the privacy noise; "
        f"{_share(coverage['practice'])} of what is done now happens there. Only such actions are ever recommended in place "
        f"of current practice.</p><figure>{drawing.both(lambda width: drawing.bars(shares, width))}</figure>"
    )


def _cost(findings: Findings, true: Guarantee) -> str:
    """Which gain is found under this and other guarantees, and without privacy."""
    power, unit = findings.get("power"), noun(true)
    if power is None or not power["guarantees"]:
        return ""
    *others, last = power["guarantees"]
    private_rows = [(row["guarantee"], row["gain"]) for row in others if row["guarantee"] is not None]
    found = "With as many people, and without privacy, " + _found(last["gain"], power, unit)
    text = f"<p>{_found(power['gain'], power, unit).capitalize()} {found}</p>"
    key = "rho" if private_rows[0][0]["rho"] is not None else "epsilon"
    points = [(promise["rho"] or promise["epsilon"] or 0.0, gain) for promise, gain in private_rows if gain is not None]
    if power["gain"] is None or last["gain"] is None or len(points) < 2:
        return text + f"<p>{SIMULATED}</p>"
    now = true.rho if key == "rho" else true.epsilon
    here = min(points, key=lambda point: abs(np.log(point[0]) - np.log(now or point[0])))
    lines = [("without privacy", last["gain"])]
    name = f"{key} (smaller is more private)"
    up = f"gain that is found with {_share(power['chance']).replace('&nbsp;', ' ')} chance, {each(unit)}"
    picture = drawing.both(lambda width: drawing.curve(points, here, lines, name, up, width))
    return f"{text}<figure>{picture}<figcaption>{SIMULATED}</figcaption></figure>"


def _found(gain: float | None, power: Power, unit: str) -> str:
    """A sentence about the gain that is found, which follows others."""
    chance = _share(power["chance"])
    if gain is None:
        return f"not even the largest possible gain, {_number(power['largest'])} {each(unit)}, is found with {chance} chance."
    return f"a gain of {_number(gain)} {each(unit)} is found with {chance} chance."


def power_said(findings: Findings, unit: str, before: str = "") -> str:
    """Which gain would have been found, in words that follow `before`; nothing where a gain is sure, or where it is not known."""
    power, gain = findings.get("power"), findings.get("gain")
    if power is None or gain is None or gain["sure"]:
        return ""
    stated = power["largest"] if power["gain"] is None else power["gain"]
    which = "not even the largest possible gain," if power["gain"] is None else "a gain of"
    after = "," if power["gain"] is None else ""
    return f"{before}{which} {written(stated)} {each(unit)}{after} would have been found with {share(power['chance'])} chance"


SIMULATED = (
    "Simulated from the private release, with as many people, in worlds where actions differ the more the larger the gain of the "
    "best policy is; no further statistic of the data was used. Found means that a fit is sure that its policy is "
    "better than current practice."
)


def _number(value: float | None) -> str:
    return "an unknown amount" if value is None else written(value)


def _share(part: float) -> str:
    return share(part).replace(" %", "&nbsp;%")
