"""From the answers to a linear learner's questions to a policy and what can be said of it. No data is at hand.

The answers depend on the questions, which depend on the answers before them: V_{h+1} stands inside every answer about step
h. So they can be read again, but not asked about another value function. What is free is to decide anew at the first step,
the last one learned: V_2 is then still the value of what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...learning.learners.vapvi import LinearState, Vapvi
from ...learning.planning.linear_ope import (
    CONFIDENCE,
    NO_SHIFT,
    Shift,
    StepUncertainty,
    gain,
    practice,
    shift_of,
    step_uncertainty,
    value,
)
from ...mdp.critic import VectorPolicy
from ...protocol.kinds.gram import VALUE, GramRelease, release_from_bytes
from ...protocol.kinds.values import ValuesRelease, values_from_bytes
from ..reporting.stated import Findings
from .alarms import one_step
from .assumed import STATES_TELL
from .findings import in_people_units
from .learning import LearningResult

VALUES, GRAM = "values", "gram-"


def gram_name(number: int) -> str:
    """Under which the answer to a question is kept."""
    return f"{GRAM}{number:04d}"


def is_linear(releases: Iterable[str]) -> bool:
    """Whether a linear learner asked for these."""
    return any(name.startswith(GRAM) for name in releases)


def read_releases(learner: Vapvi, horizon: int, stored: dict[str, bytes]) -> dict[str, GramRelease | ValuesRelease]:
    """The answers that a fit keeps, as the learner asked for them."""
    form = learner.form(horizon)
    answers: dict[str, GramRelease | ValuesRelease] = {
        name: release_from_bytes(body, form) for name, body in sorted(stored.items()) if name.startswith(GRAM)
    }
    if len(answers) != len(form.questions):
        raise InvalidInput(
            "release-incomplete",
            "This folder does not hold all statistics of its learner, so nothing can be learned. Fit again.",
        )
    return {**answers, **({VALUES: values_from_bytes(stored[VALUES])} if VALUES in stored else {})}


def linear_result(
    learner: Vapvi,
    horizon: int,
    releases: dict[str, GramRelease | ValuesRelease],
    units: Sequence[float],
    first: Vapvi | None = None,
    unconfounded: bool = False,
) -> LearningResult:
    """Policy, values and findings. first: who decides at the first step, if that is another than who asked. unconfounded: see
    `alarms.one_step`."""
    form = learner.form(horizon)
    state, uncertainties, shift = LinearState.blank(form), list[StepUncertainty](), NO_SHIFT
    for name in sorted(name for name in releases if name.startswith(GRAM)):
        answer: Any = releases[name]
        state, judge = learner.learn(state, answer), learner
        made = state.critics[answer.question.step]
        if answer.question.kind != VALUE or made is None:
            continue
        if answer.question.step == 0 and first is not None:
            judge, asked_critic, made = first, made, first.critic(form, answer)
            state = replace(state, critics=(made, *state.critics[1:]))
            shift = shift_of(form.features, asked_critic, made)
        uncertainties.append(step_uncertainty(form, made, judge.regression(answer)))
    policy = state.recommendation
    values = None if isinstance(policy, VectorPolicy) else state.values
    found = _findings(releases, uncertainties, horizon, units, shift)
    return LearningResult(policy, values, {**found, **one_step(found, horizon, False, unconfounded)})


def _findings(
    releases: dict[str, GramRelease | ValuesRelease],
    uncertainties: list[StepUncertainty],
    horizon: int,
    units: Sequence[float],
    shift: Shift,
) -> Findings:
    """What was found of the policy, in people's units; `lower` is the low end of the interval."""
    values = releases.get(VALUES)
    users = values.users if values is not None else next(iter(releases.values())).users
    summary: Findings = {"users": users, "value": None, "lower": None}
    if not isinstance(values, ValuesRelease):
        return summary
    in_units = in_people_units(units, horizon)
    policy_value, more = (
        in_units(value(values, uncertainties, horizon, shift)),
        gain(values, uncertainties, horizon, shift),
    )
    return {
        **summary,
        "value": policy_value["value"],
        "low": policy_value["low"],
        "high": policy_value["high"],
        "lower": policy_value["low"],
        # Nothing in it is to follow current practice, so its value is the same without people.
        "alone": {**policy_value, "vacuous": False},
        "practice": in_units(practice(values, horizon)),
        "gain": {**in_units(more, difference=True), "sure": more.sure()},
        "recommended": more.sure(),
        "confidence": CONFIDENCE,
        "linear": True,
        "assumes": [STATES_TELL],
        "checks": [],
    }
