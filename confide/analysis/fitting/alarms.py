"""What may be said of a policy that others judged: four alarms with names, and four rules.

* `residual`: what follows a decision depends on more than the recorded state.
* `propensity`: what practice did depends on more than its stated chances.
* `balance`: the weights of those who judge are not what the release foretells: practice did not act as the table says.
* `disagreement`: judge and table differ by more than chance about the same adoption.

1. `propensity` or `balance`, where chances are not logged: those who decided saw more than the table. No gain is stated. Nor is
   one with `disagreement`, where a cause is named only as far as it is known: states leave something out, of what follows or of
   what practice saw, and without logged chances the data cannot tell which. (That `disagreement` counts here was found necessary:
   under confounding it may be the only alarm beside `residual`; in worlds in which histories matter it is raised as well.)
2. The adoption is not above zero for sure: not better, whatever the table says. (That the table alone recommended where those who
   judge could not tell was tried: with few people, two steps and confounding that logged chances take out of
   what is judged, but not out of the table, harm was called better too often.)
3. It is, without any alarm: the adoption is better whatever states leave out; the whole policy is recommended if the table is sure.
   Without an alarm the same holds not if what practice did is suspect: after `residual`, where a number about what practice did
   is large, which under confounding is the last sign of it; and where practice repeats the action before more often than
   states tell, and the test cannot exclude that a hidden cause that lasts does that (`adopting.hidden_cause`), as with two steps.
4. It is, with `residual`, or with logged chances and `disagreement`: the adoption only. Follow it, log that, and fit again.

With a single step nothing comes before a decision, so that no test can see what else decided about it: unless chances are logged,
nothing is called better but by the analyst's own declaration (`unconfounded`), which is printed beside the verdict.
"""

from __future__ import annotations

from collections.abc import Collection

from ..reporting.numbers import written
from ..reporting.stated import CheckMade, Findings, StatedJudgement
from .subgroups import unstated

RESIDUAL, PROPENSITY, BALANCE, DISAGREEMENT = "residual", "propensity", "balance", "disagreement"
ALARMS = (RESIDUAL, PROPENSITY, BALANCE, DISAGREEMENT)
CONFOUNDING = "confounding"
"""The name of the check that no test of a single step can make."""

SEEN_MORE = "those who decided saw more than the table, so no gain can be stated"

LEFT_OUT = (
    "states leave something out, of what follows a decision or of what those who decided saw; without logged probabilities of "
    "actions (--propensity) it cannot be said which, so no gain can be stated"
)

MEANING = {
    RESIDUAL: "what follows a decision depends on more than the recorded state",
    PROPENSITY: "what practice did depends on more than its probabilities are estimated by",
    BALANCE: "the weights of those who judge are out of balance",
    DISAGREEMENT: "those who judge and the table disagree about the same adoption",
}
"""What each alarm says, in words."""

HABIT = (
    "practice repeats actions more often than states tell, and it cannot be said whether the action before decides or something "
    "that is not recorded; without logged probabilities of actions (--propensity) no gain can be stated"
)
"""Of what practice did, short of an alarm."""

UNTOLD = "they cannot tell whether it is above zero; the table alone is sure of the policy, which is no reason to call it better"
"""Of a policy that the table is sure of, and those who judge are not."""

ANOTHER = (
    "the judging users scored another policy, or none, so they call nothing better; fit again to have this one judged"
)
"""Of a policy that was learned again from a release, with other choices."""

UNCONFOUNDED = "declared by the analyst: nothing but the recorded state decided about actions (--unconfounded)"
CONFOUNDED = (
    "with a single step no test can see what else decided about actions, so nothing is called better: log propensities, or declare "
    "--unconfounded"
)


def ruling(
    judged: StatedJudgement | None,
    alarms: Collection[str],
    logged: bool,
    table_sure: bool,
    doubtful: str = "",
) -> Findings:
    """`judged` with its `sure` by the rules of this module, `alarms`, `recommended`, and the sentence `judged_said`.
    doubtful: why what practice did leaves open that it saw more, short of an alarm.

    judged: `alpha`, `gain`, `low`, `high`, `sure`, `undone_by` and `people`, or None where nothing could be judged.
    """
    raised = [name for name in ALARMS if name in alarms]
    if judged is None:
        said = "no share of the policy could be judged by others: it keeps to practice, or too few people would be left"
        return {"judged": None, "alarms": raised, "recommended": False, "judged_said": said}
    blind = SEEN_MORE if {PROPENSITY, BALANCE} & set(raised) else LEFT_OUT
    blind = blind if blind_to(raised, logged) else doubtful
    sure = bool(judged["sure"]) and not blind
    recommended = sure and table_sure and not raised
    untold = table_sure and not (raised or blind or sure)
    return {
        "judged": {**judged, "sure": sure, "undone_by": judged.get("undone_by") if sure else None},
        "alarms": raised,
        "recommended": recommended,
        "judged_said": _said(judged, raised, logged, blind) + (f": {UNTOLD}" if untold else ""),
    }


def blind_to(alarms: Collection[str], logged: bool) -> bool:
    """Whether alarms forbid to state any gain."""
    return not logged and bool({PROPENSITY, BALANCE, DISAGREEMENT} & set(alarms))


def _said(judged: StatedJudgement, raised: list[str], logged: bool, blind: str) -> str:
    """The judgement in a sentence, with what it rests on and what the alarms mean. blind: why no gain is stated."""
    gain, low, high = (written(judged[key], sign=True) for key in ("gain", "low", "high"))
    decisions = f"{10 * judged['alpha']:g} of 10 decisions"
    rests = "whatever states leave out" if logged else "whatever states leave out of what follows"
    measured = (
        f"judged by {judged['people']:,} others: followed in {decisions} it gains {gain} ({low} to {high}), {rests}"
    )
    if blind and not raised:
        return blind
    if not raised and judged["sure"] and judged.get("undone_by") is not None:
        factor = written(judged["undone_by"])
        return (
            f"{measured}; by the release, it would take a hidden cause that makes actions {factor} times as likely, or "
            "as unlikely, to undo this"
        )
    if not raised:
        return measured
    why = "; ".join(MEANING[name] for name in raised)
    if blind:
        return f"ALARM ({', '.join(raised)}): {why}: {blind}"
    then = (
        "rely on this alone: follow it that often, log that, and fit again" if judged["sure"] else "nothing is better"
    )
    return f"{measured}. ALARM ({', '.join(raised)}): {why}: {then}"


def silenced(findings: Findings) -> bool:
    """Whether findings forbid to call any policy better by the table alone: an alarm was raised, or the data cannot tell what else
    decided about a single step."""
    unseen = any(check["name"] == CONFOUNDING and not check["passed"] for check in findings.get("checks") or [])
    return unseen or bool(findings.get("alarms"))


def one_step(findings: Findings, horizon: int, logged: bool, unconfounded: bool) -> Findings:
    """What findings of a single step may say: see the end of this module's docstring. Others stay as they are."""
    if horizon > 1 or logged or findings.get("recommended") is None:
        return {}
    said = UNCONFOUNDED if unconfounded else CONFOUNDED
    check: CheckMade = {"name": CONFOUNDING, "passed": unconfounded, "said": said}
    better = bool(findings["recommended"]) and unconfounded
    found: Findings = {"recommended": better, "checks": [*(findings.get("checks") or []), check]}
    groups = findings.get("groups")
    return found if unconfounded or not groups else {**found, "groups": unstated(groups)}
