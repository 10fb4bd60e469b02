"""A model card: what a policy was learned from, what was guaranteed, what it is good for and what not. JSON, and a page."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from ..reporting.numbers import each, plural, share, written
from ..reporting.offline_report import noun, power_said
from ..reporting.pages import page, pairs, section

if TYPE_CHECKING:
    from .fit import Fit

SCHEMA = "confide.card/1"
LIMITS = (
    "It is evaluated from the log it was learned from: if users, or what follows their actions, change, so does its value.",
    "What is not logged (why people acted as they did) is taken not to matter beyond the declared states.",
    "Where it recommends no change, it says nothing.",
    "The guarantee covers users in the log, not those the policy is used on.",
)
"""Limits of every such policy."""


def card(fit: Fit) -> dict[str, Any]:
    """The model card of a fit as plain values, all of them public."""
    config, findings, certificate = fit.config, fit.findings, fit.certificate
    declared = (config.get("fit_file") or {}).get("card") or {}
    true = certificate.guarantee
    rewards = config.get("declared_range", config["reward_range"])
    return {
        "schema": SCHEMA,
        "title": declared.get("title", "A policy that hides the people it was learned from"),
        "purpose": declared.get("purpose"),
        "contact": declared.get("contact"),
        "data": {
            "people": fit.users,
            "unit": true.unit,
            "states": config["states"],
            "actions": config["actions"],
            "horizon": config["horizon"],
            "rewards": list(rewards),
            "returns": config.get("return_range"),
            "users": config["users"],
        },
        "guarantee": {"said": str(true), **true.as_json(), "certificate": certificate.digest},
        "learner": {"name": config["learner"], "options": config.get("options") or {}, "scale": config.get("scale")},
        "evaluation": {
            name: findings.get(name)
            for name in ("value", "low", "high", "practice", "gain", "recommended", "confidence", "power")
        },
        "coverage": findings.get("coverage"),
        "assumes": [*(findings.get("assumes") or []), *certificate.assumptions],
        "checks": findings.get("checks") or [],
        "limits": [*([declared["limits"]] if declared.get("limits") else []), *LIMITS],
        "version": certificate.versions.get("confide"),
    }


def card_json(fit: Fit) -> str:
    """The card as a file."""
    return json.dumps(card(fit), indent=2, ensure_ascii=False, default=str) + "\n"


def card_page(fit: Fit) -> str:
    """The card as a page."""
    values = card(fit)
    data, judged, gain = values["data"], values["evaluation"], values["evaluation"]["gain"]
    unit, steps = noun(fit.certificate.guarantee), f"{data['horizon']} step{'' if data['horizon'] == 1 else 's'}"
    practice = judged["practice"]
    usual = "" if practice is None else f"; current practice {written(practice['value'])}"
    answer = "not estimated"
    if gain is not None:
        span = f"{written(gain['low'], sign=True)} to {written(gain['high'], sign=True)}"
        recommended = judged.get("recommended")
        sure = gain["sure"] if recommended is None else recommended
        better = "surely better than current practice" if sure else "not surely better than current practice"
        answer = f"{better}: {written(gain['value'], sign=True)} ({span}){power_said(fit.findings, unit, '; ')}"
    rows = [
        ("Purpose", values["purpose"] or "not said"),
        ("Contact", values["contact"] or "not said"),
        ("Data", f"{data['people']:,} {plural(unit)}"),
        ("Hidden", data["unit"]),
        ("Problem", f"{data['states'] or 'vector'} states, {data['actions']} actions, at most {steps}"),
        ("Rewards", f"{written(data['rewards'][0])} to {written(data['rewards'][1])} a step"),
        ("Guarantee", values["guarantee"]["said"]),
        ("Learner", str(values["learner"]["name"])),
        ("Value", "not estimated" if judged["value"] is None else f"{written(judged['value'])} {each(unit)}{usual}"),
        ("Finding", answer),
    ]
    if values["coverage"] is not None:
        rows.append(("Current practice", f"{share(values['coverage']['kept'])} of steps"))
    if data["returns"] is not None:
        at = next(place for place, (name, _) in enumerate(rows) if name == "Rewards")
        rows.insert(at + 1, ("Returns", f"{written(data['returns'][0])} to {written(data['returns'][1])} {each(unit)}"))
    body = f"<h1>{escape(str(values['title']))}</h1>" + pairs(rows)
    for title, lines in (("Limits", values["limits"]), ("Assumptions", values["assumes"])):
        body += section(title, "<ul>" + "".join(f"<li>{escape(str(line))}</li>" for line in lines) + "</ul>")
    return page(str(values["title"]), body)
