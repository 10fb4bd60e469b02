"""The story that the dashboard shows, as plain values: computed from a contract, signed heads and releases, which anyone
may fetch.

Which numbers may be shown depends on who is trusted. Local: whatever is computed from reports. Otherwise only what was
released: how many came to an open batch, and what was refused, are exact functions of people's episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import validation
from ...privacy.guarantee import JOINT, LOCAL, SHUFFLE, rounded_up
from ...protocol.outlook import people_needed, typical_error
from ...protocol.releases.release import read_release
from ...validation import Json
from ..contract.admission import admission_lines, held_guarantee
from ..contract.contract import Contract
from ..contract.heads import SignedHead
from .mean_return import CONFIDENCE, enough_returns, mean_return

SCHEMA = "confide.story/1"
MOST_ROUNDS = 200
"""Rounds that are shown; of more of them, as many at equal distances, with the newest."""
POINTS = 60
"""Points of the curve of errors."""
LIVE_TRUSTS = {LOCAL}
"""Trusts under which whatever is computed from reports may be shown."""


def shown_rounds(closed: int) -> list[int]:
    """The numbers of the closed rounds that are shown."""
    return np.unique(np.linspace(1, closed, min(closed, MOST_ROUNDS)).round().astype(int)).tolist() if closed else []


def story_of(contract: Contract, head: SignedHead | None, release: Callable[[int], bytes | None]) -> dict[str, Any]:
    """What was learned up to a head. release: the bytes of the release that closed a round.

    Where some users report their return, the rounds between two points of the chart are those in which enough of them did; `since`:
    how many users had come before.
    """
    closed = 0 if head is None else head.head.round - 1
    rounds: list[dict[str, Json]] = []
    before: Any = None
    shown = shown_rounds(closed)
    for number in shown:
        data = release(number)
        if data is None:
            continue
        closed_release = read_release(contract.design, data)
        since = 0 if before is None else before.users
        returned = mean_return(contract.design, closed_release, before)
        told = number == shown[-1] or enough_returns(contract.design, closed_release, before)
        rounds.append(
            {
                "round": number,
                "people": closed_release.users,
                "since": since,
                "bytes": len(data),
                "mean_return": returned.as_json() if told and returned is not None else None,
                "error": float(typical_error(contract.design, closed_release.users)),
            }
        )
        before = closed_release if told else before
    return {
        "schema": SCHEMA,
        "guarantee": guarantee_in_words(contract),
        "objective": contract.document["question"].get("objective", "reward"),
        "confidence": CONFIDENCE,
        "ends": thinned(contract.ends),
        "rounds": rounds,
        "outlook": outlook(contract),
    }


def thinned(ends: tuple[int, ...]) -> list[int]:
    """After how many people rounds close: all of them, or as many as are shown."""
    return [ends[number - 1] for number in shown_rounds(len(ends))]


def outlook(contract: Contract) -> dict[str, Json]:
    """How the error of the average count shrinks as people come, and from how many on it exceeds the noise."""
    design, ends = contract.design, contract.ends
    people = np.unique(np.geomspace(ends[0], ends[-1], POINTS).round().astype(int))
    needed = people_needed(design)
    enough = [number for number, end in enumerate(ends, 1) if end >= needed]
    return {
        "people": people.tolist(),
        "error": [float(value) for value in typical_error(design, people)],
        "needed": math.ceil(needed) if needed < 1e15 else None,
        "round": enough[0] if enough else None,
        "half": contract.document["learner"].get("forecast"),
    }


def standing(
    contract: Contract, head: SignedHead | None, people: int, refusals: dict[str, int], period: int | None = None
) -> dict[str, Any]:
    """The status of the service; what may not be shown is None. period: the one that has begun, where there are periods."""
    ends = None if period is None or contract.period is None else (period + 1) * contract.period.seconds
    shown = contract.document["trust"] in LIVE_TRUSTS
    known = 0 if head is None else head.head.people
    ended = head is not None and head.head.ended
    return {
        "round": None if head is None else head.head.round,
        "head": None if head is None else head.digest,
        "ended": ended,
        "rounds": len(contract.ends),
        "closes": None if head is None or ended else contract.ends[head.head.round - 1],
        "people": max(people, known) if shown else known,
        "live": shown,
        "users": contract.ends[-1],
        "refusals": refusals if shown else None,
        "period": None if period is None else {"number": period, "ends": ends},
    }


def guarantee_in_words(contract: Contract) -> dict[str, Json]:
    """The guarantee for a reader who has never heard of epsilon. sure: how sure an even guess can become at most, in percent."""
    guarantee_shown = held_guarantee(contract)
    guarantee = guarantee_shown.as_json()
    epsilon, delta = (validation.number(name, guarantee[name]) for name in ("epsilon", "delta"))
    odds = math.exp(min(epsilon, 700.0))
    sure = math.ceil(1000 * odds / (1 + odds)) / 10
    sentence, how = _WHO.get(contract.design.trust, _WHO_ELSE)
    return {
        "warnings": admission_lines(contract),
        "sentence": sentence,
        "kept": how,
        "sure": min(sure, 100.0),
        "odds": rounded_up(odds, 3),
        "epsilon": rounded_up(epsilon, 4),
        "delta": rounded_up(delta, 3) if delta else None,
        "formal": str(guarantee_shown),
        "reports": contract.document["reports_per_person"],
        "period": None if contract.period is None else contract.period.words,
    }


_SEEN = "What this page shows was computed from that alone, and is what everyone else sees too."
_WHO = {
    LOCAL: (
        "No one can be sure what one person did, not even the operator of this service.",
        f"Every device randomises its own report before it leaves. {_SEEN}",
    ),
    SHUFFLE: (
        "No one can be sure what one person did, as long as shuffler and collector keep apart.",
        f"Every device randomises its own report, and a shuffler adds reports up and forgets them. {_SEEN}",
    ),
    JOINT: (
        "No one else can be sure what one person did, from all that is ever published.",
        f"One trusted process sees what people do, adds it up with noise, and forgets it. {_SEEN}",
    ),
}
"""The guarantee, and how it is kept, by who is trusted."""
_WHO_ELSE = ("No one can be sure what one person did, from all that is ever published.", "")
