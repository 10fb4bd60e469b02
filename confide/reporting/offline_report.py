"""The report of a fit on real data: one HTML file without network or script. Everything in it is public already:
it shows the release's consequences, the promise, and the policy; no count of the data stands in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..mdp import Policy
from ..mdp.critic import VectorPolicy
from ..privacy import Certificate, Guarantee
from . import drawing

STYLE = """
:root{--ink:#222;--soft:#666;--line:#ddd;--yes:#00694d;--no:#8a4b00}
*{box-sizing:border-box}
body{font:17px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:#fff;max-width:46rem;
margin:2.5rem auto;padding:0 1.2rem}
header{border-left:6px solid var(--no);padding:.2rem 0 .2rem 1.1rem;margin-bottom:2rem}
header.yes{border-color:var(--yes)}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 .4rem}
h2{font-size:1.12rem;margin:2.4rem 0 .5rem}
p{margin:.45rem 0}
.soft,figcaption{color:var(--soft);font-size:.88rem}
figure{margin:1rem 0}svg{max-width:100%;height:auto;display:block}
table{border-collapse:collapse;font-size:.9rem;margin:.6rem 0;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;white-space:nowrap;color:var(--soft)}
.scroll{overflow-x:auto}
footer{margin:3rem 0 1rem;border-top:1px solid var(--line);padding-top:.7rem;color:var(--soft);font-size:.85rem}
@media print{body{margin:0;max-width:none}}
"""

LARGEST_PICTURE = 900
"""Cells, steps times states, up to which a policy is drawn."""

MOST_COLOURS = len(drawing.COLOURS)


def render(
    *,
    policy: Policy | VectorPolicy,
    certificate: Certificate,
    findings: dict[str, Any],
    config: dict[str, Any],
    states: Sequence[str],
    actions: Sequence[str],
) -> str:
    """The page. findings: what was computed from the release, in people's units; config: every public choice."""
    sections = [
        _verdict(findings),
        _section("What is promised to every person", _promise(certificate, findings)),
        _section("What the policy is worth", _worth(findings, int(config["horizon"]))),
        _section("How much of the problem the data covers", _coverage(findings)),
        _section("What privacy costs", _cost(findings, certificate.guarantee)),
        _section("The policy", _policy(policy, states, actions)),
        _section("The certificate", _table(certificate.rows())),
    ]
    learner = escape(str(config.get("learner", "")))
    title = "A policy that hides the people it was learned from"
    foot = (
        f"<footer>Learned by {learner} with confide {escape(certificate.versions.get('confide', ''))}. Everything on this "
        "page is computed from the private release beside it, or was public before.</footer>"
    )
    return page(title, "\n".join([*(section for section in sections if section), foot]))


def page(title: str, body: str) -> str:
    """A page of HTML that needs nothing else."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>" if body else ""


def _verdict(findings: dict[str, Any]) -> str:
    gain, people = findings.get("gain"), int(findings["users"])
    if gain is None:
        value, lower = _number(findings.get("value")), _number(findings.get("lower"))
        said = f"worth {value} a person" if findings.get("value") is not None else "not evaluated"
        return (
            f"<header><h1>Whether this policy is better than current practice was not estimated.</h1>"
            f"<p>It is {said}, and at least {lower} as far as its learner can tell. Learned from {people:,} people.</p></header>"
        )
    sure = 100 * float(findings["confidence"])
    span = f"between {_number(gain['low'])} and {_number(gain['high'])}"
    if gain["sure"]:
        head = f"This policy is better than current practice, by {_number(gain['value'])} a person."
        more = f"With {sure:g}&nbsp;% confidence the gain is {span}."
    elif gain["high"] < 0:
        head = "Go on as now: this policy is worse than current practice. Do not use it."
        more = f"With {sure:g}&nbsp;% confidence the difference is {span}."
    else:
        head = "Go on as now: it cannot be said that this policy is better than current practice."
        more = f"The best guess is {gain['value']:+.3g} a person; with {sure:g}&nbsp;% confidence the difference is {span}."
    colour = "yes" if gain["sure"] else "no"
    return (
        f'<header class="{colour}"><h1>{head}</h1><p>{more}{_carried(findings)}</p>'
        f'<p class="soft">Learned from {people:,} people.</p></header>'
    )


def _carried(findings: dict[str, Any]) -> str:
    """How far the release carries, in a sentence or two."""
    found, needed = findings.get("coverage"), findings.get("needed")
    if found is None:
        return ""
    said = (
        " It leaves current practice only where the private data show something better; elsewhere, for "
        f"{_share(found['kept'])} of its steps, people go on as now. {_share(found['pairs'])} of all situations and actions "
        "stand out from the privacy noise"
    )
    return said + (f"; the average one does from {_number(needed)} people on." if needed is not None else ".")


def _promise(certificate: Certificate, findings: dict[str, Any]) -> str:
    true = certificate.guarantee
    if true.trust == "none":
        return "<p><strong>Nothing.</strong> No noise was added: this policy may reveal people in the data.</p>"
    hidden = escape(true.unit)
    row = true.as_json()
    epsilon, delta = float(row["epsilon"] or 0.0), float(row["delta"] or 0.0)
    odds = np.exp(min(epsilon, 700.0))
    words = (
        f"<p>Whoever sees this policy, and everything else in this folder, learns almost the same whether or not {hidden} "
        "was in the data. "
    )
    if odds < 1e4:
        words += (
            f"Whatever they suspected of one person beforehand, their odds change by at most a factor of {odds:.3g}"
            + (f", except with probability {delta:g}" if delta else "")
            + ".</p>"
        )
    else:
        words += f"But epsilon is {epsilon:.3g}: that is a weak promise.</p>"
    nominal = certificate.promises[0].nominal
    if nominal is not None:
        words += (
            f"<p>The noise is a paper's, which claims {escape(str(nominal))}. What is true is {escape(str(true))}.</p>"
        )
    return words + f'<p class="soft">In one line: {escape(str(true))}; one change is: {escape(true.neighbours)}.</p>'


def _worth(findings: dict[str, Any], steps: int) -> str:
    practice, linear = findings.get("practice"), bool(findings.get("linear"))
    if practice is None or findings.get("value") is None:
        return ""
    rows = [
        ("current practice", practice["value"], practice["low"], practice["high"], None),
        (
            "this policy",
            findings["value"],
            findings["low"],
            findings["high"],
            None if linear else findings.get("lower"),
        ),
    ]
    alone = findings.get("alone")
    if alone is not None and not linear:
        rows.append(("a machine alone", alone["value"], alone["low"], alone["high"], None))
    sure = 100 * float(findings["confidence"])
    picture = drawing.intervals(rows, "value a person")
    note = (
        f"Sums of rewards over {steps} steps. Dot: estimate; bar: {sure:g}&nbsp;% interval, noise and luck included"
        + ("; tick: what is surely reached, with 99&nbsp;% confidence." if rows[1][4] is not None else ".")
        + (_alone(alone) if alone is not None and not linear else "")
        + (" It holds as far as values are linear in the features." if linear else "")
    )
    return f"<figure>{picture}<figcaption>{note}</figcaption></figure>"


def _alone(alone: dict[str, Any]) -> str:
    said = (
        " The policy is worth what is shown if people go on as they do now wherever it says so. A machine alone would play "
        "estimated shares of what they do instead"
    )
    untold = ", and nobody can tell what that is worth: those shares are not given out unless asked for (--alone)."
    return said + (untold if alone["vacuous"] else ".")


def _coverage(findings: dict[str, Any]) -> str:
    found = findings.get("coverage")
    if found is None:
        return ""
    shares = [
        ("situations and actions tried", found["pairs"]),
        ("current practice in them", found["practice"]),
        ("steps that stay as now", found["kept"]),
    ]
    return (
        f"<p>Of all situations and allowed actions, {_share(found['pairs'])} stand out from the privacy noise as tried; "
        f"{_share(found['practice'])} of what is done now happens there. Only such actions are ever recommended in place "
        f"of current practice.</p><figure>{drawing.bars(shares)}</figure>"
    )


def _cost(findings: dict[str, Any], true: Guarantee) -> str:
    rows = findings.get("promises") or []
    told = [row for row in rows if row["promise"] is not None]
    if not told:
        return ""
    free = next((row["value"] for row in rows if row["promise"] is None), None)
    key = "rho" if told[0]["promise"]["rho"] is not None else "epsilon"
    practice = findings["practice_there"]
    points = [(float(row["promise"][key]), float(row["value"]) - practice) for row in told]
    now = true.rho if key == "rho" else true.epsilon
    here = min(points, key=lambda point: abs(np.log(point[0]) - np.log(now or point[0])))
    words = ""
    if free is not None:
        gained = free - practice
        lost = max(gained - here[1], 0.0)
        share = f", {_share(lost / gained)} of what could be gained over current practice" if gained > 0 else ""
        price = "next to nothing" if lost < 0.005 * max(gained, 1e-9) else f"about {_number(lost)} a person{share}"
        words = f"<p>In a world like the one the release describes, this promise costs {price}.</p>"
    lines = [("current practice", 0.0)] + ([] if free is None else [("without privacy", free - practice)])
    name = "rho (smaller is more private)" if key == "rho" else "epsilon (smaller is more private)"
    picture = drawing.curve(points, here, lines, name, "gain over current practice, a person")
    note = (
        "What would be learned under other promises, from as many people. Simulated from the private release, as if it "
        "were the truth; the data was not asked again."
    )
    return f"{words}<figure>{picture}<figcaption>{note}</figcaption></figure>"


def _policy(policy: Policy | VectorPolicy, states: Sequence[str], actions: Sequence[str]) -> str:
    if isinstance(policy, VectorPolicy):
        return (
            f"<p>For each of {policy.horizon} steps, a rule for any state of {policy.features.width} numbers, which no "
            "table could hold. In Python: <code>confide.load(folder).act(step, state)</code>.</p>"
        )
    table = policy.probabilities
    horizon, count, size = table.shape
    if horizon * count > LARGEST_PICTURE or size > MOST_COLOURS:
        return (
            f"<p>For each of {horizon} steps and {count:,} states: too large to draw. It is in policy.csv, one row for "
            "each, with labels.</p>"
        )
    best = table.argmax(axis=-1)
    certain = table.max(axis=-1) > 1 - 1e-9 if policy.as_now is None else ~policy.as_now
    if (table == table[:1]).all():
        best, certain = best[:1], certain[:1]
    picture = drawing.grid(best, certain, [str(one) for one in states], [str(one) for one in actions])
    told = "; the colour is what is done most often there." if policy.complete else "."
    note = f"Columns: steps; rows: states. Pale: as now{told}"
    return f'<figure class="scroll">{picture}<figcaption>{note}</figcaption></figure>'


def _table(rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{escape(left)}</th><td>{escape(right)}</td></tr>" for left, right in rows)
    return f'<div class="scroll"><table>{body}</table></div>'


def _number(value: float | None) -> str:
    if value is None:
        return "an unknown amount"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _share(part: float) -> str:
    """A share in per cent; never 0 or 100 unless it is."""
    percent = 100 * float(np.clip(part, 0.0, 1.0))
    if 0 < percent < 1:
        return "under 1&nbsp;%"
    if 99 < percent < 100:
        return "over 99&nbsp;%"
    return f"{percent:.0f}&nbsp;%"
