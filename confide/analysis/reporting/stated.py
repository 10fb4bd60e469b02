"""What a fit says of its policy, as plain values: the keys of its findings, which files, pages and `--json` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, NotRequired, TypedDict, TypeVar

from ...validation import Json

L = TypeVar("L", int, str)
"""A number, or a label."""


class StatedInterval(TypedDict):
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float


class StatedGain(StatedInterval):
    """By how much a policy is better than current practice, and whether that can be said."""

    sure: bool


class StatedAlone(StatedInterval):
    """The value of a table that is run without people. vacuous: its interval says next to nothing."""

    vacuous: bool


class StatedJudgement(TypedDict):
    """What those who judge say of an adoption: the share alpha of decisions that follow the policy, its gain, and by how many
    people. undone_by: the factor of a hidden cause that would undo a sure gain."""

    alpha: float
    gain: float
    low: float
    high: float
    sure: bool
    people: int
    undone_by: NotRequired[float | None]


class CheckMade(TypedDict):
    """A check of what values rest on: its name, whether it passed, and what that means."""

    name: str
    passed: bool
    said: str


class EndedEarly(StatedInterval):
    """About how many episodes came to their end, with a confidence. before_last: before their last step."""

    confidence: float
    before_last: bool


class OtherGuarantee(TypedDict):
    """A guarantee with more or less noise."""

    rho: float | None
    epsilon: float | None
    delta: float


class FoundGain(TypedDict):
    """The gain that would have been found under another guarantee, None for none; None where not even the largest would."""

    guarantee: OtherGuarantee | None
    gain: float | None


class Power(TypedDict):
    """The gain that would have been found with this chance, the largest there can be, and the same under other guarantees."""

    chance: float
    gain: float | None
    largest: float
    guarantees: list[FoundGain]


class StatedCoverage(TypedDict):
    """Shares: of pairs that were tried, of current practice in them, and of the policy's steps that keep to it."""

    pairs: float
    practice: float
    kept: float


class StatedDifference(TypedDict, Generic[L]):
    """Where a policy leaves current practice: see `fitting.differences.Different`. Numbers of states and actions, or labels."""

    state: L
    action: L
    steps: list[int]
    instead: L
    share: float
    gain: StatedInterval | None
    rests: float
    error: float


class GroupGain(TypedDict):
    """What is said of a public group: its share of all users, the gain of the adoption that was judged, and a verdict."""

    group: str
    share: float
    share_low: float
    share_high: float
    gain: float | None
    low: float | None
    high: float | None
    verdict: str


class Findings(TypedDict, total=False):
    """All that a fit finds, in people's units: `fitting.findings.findings` says what each is."""

    users: int
    value: float | None
    low: float | None
    high: float | None
    lower: float | None
    alone: StatedAlone | None
    practice: StatedInterval | None
    gain: StatedGain | None
    recommended: bool | None
    needed_to_be_sure: float | None
    confidence: float | None
    assumes: list[str] | None
    ended: EndedEarly | None
    checks: list[CheckMade] | None
    judged: StatedJudgement | None
    alarms: list[str] | None
    groups: list[GroupGain] | None
    judged_said: str
    foretold: StatedInterval | None
    tested: list[float]
    differences: list[StatedDifference[int]]
    needed: float | None
    coverage: StatedCoverage | None
    power: Power | None
    linear: bool


def with_labels(
    differences: Iterable[StatedDifference[int]], states: Sequence[str], actions: Sequence[str]
) -> list[StatedDifference[str]]:
    """The differences with labels in place of the numbers of states and actions."""
    return [
        {
            **difference,
            "state": states[difference["state"]],
            "action": actions[difference["action"]],
            "instead": actions[difference["instead"]],
        }
        for difference in differences
    ]


class ComparedRow(StatedInterval):
    """What `compare` says of one policy: `fitting.comparing.Compared`."""

    policy: str
    gain: StatedGain
    model: float
    changed: float
    weighed: NotRequired[StatedInterval]


class ComparisonDocument(TypedDict):
    """What `--json` prints of a comparison: its policies, the confidence of all intervals, what they rest on, and alarms."""

    confidence: float
    policies: list[ComparedRow]
    assumes: dict[str, str]
    alarms: list[str]


class FitDocument(Findings, total=False):
    """What `--json` prints of a fit: most of its findings, and its certificate."""

    certificate: dict[str, Json]
