"""Every combination of a kind of question, a mechanism and a trust model that bytes can describe, whether it makes sense or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from confide.lab.environments.observed_world import in_states
from confide.mdp import MixtureFeatures, Spec
from confide.mechanisms.bounded import Bounded, BoundedByPart
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.exact import ExactCounter
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.privunit import PrivUnit
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.shuffled_bits import ShuffledBits
from confide.mechanisms.skellam import SkellamShares
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Act, Guarantee, Schedule
from confide.privacy.shuffling import ShuffledCrowd
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion, StepQuestion
from confide.protocol.kinds.asked import AskedQuestion
from confide.protocol.kinds.asked_return import AskedReturnQuestion
from confide.protocol.kinds.bandit import BanditQuestion
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.mixture import UNIT, MixtureForm
from confide.protocol.kinds.moments import MomentsQuestion
from confide.protocol.kinds.returns import ReturnsQuestion
from confide.protocol.kinds.targets import TargetsQuestion
from confide.protocol.trusts.mixing import Mixing

SPEC = Spec(2, 2, 3)
BATCH = 10
LOTS = 1e6
"""So much noise that any price is paid, if it is one."""


def questions(spec: Spec = SPEC) -> dict[str, Any]:
    """One of each kind that a device could be asked."""
    classic = CountQuestion(spec, last="dropped")
    values = np.arange(spec.horizon - 1, -1, -1, dtype=np.float64)
    return {
        "counts": classic,
        "bits": BitQuestion(classic),
        "step": StepQuestion.of(classic),
        "asked": AskedQuestion.of(classic),
        "asked_return": AskedReturnQuestion(classic.tight(1), one_in=10),
        "bandit": BanditQuestion.of(replace(spec, horizon=1)),
        "budgeted": BudgetedQuestion.of(CountQuestion(spec), 4),
        "mixture": MixtureForm(spec, MixtureFeatures.one_hot(spec.states, spec.actions), values, UNIT),
        "moments": MomentsQuestion.of(in_states(spec.states, spec.actions), spec.horizon, spec.dynamics),
        "targets": TargetsQuestion.of(
            replace(spec, horizon=max(2, spec.horizon)), MixtureFeatures.one_hot(spec.states, spec.actions)
        ),
        "returns": replace(ReturnsQuestion.of(spec.horizon), points=16),
    }


def mechanisms(question: Any) -> list[Any]:
    """Each of ours, with noise that hides every user."""
    grid, crowd = 1 / (question.resolution or 1), (ShuffledCrowd(0.4999, BATCH),)
    return [
        Laplace(LOTS, grid),
        Gaussian(LOTS, grid),
        RandomizedResponse(1e-6),
        PrivUnit.best(1e-3, question.width, 1.0),
        Bounded(LOTS, grid),
        BoundedByPart(LOTS, LOTS, 8, grid),
        *(SampledStep(1e-3, question.width, encoding) for encoding in (UNARY, SYMMETRIC, KARY, SUBSET)),
        TreeCounter(1, "laplace", LOTS, grid),
        TreeCounter(1, "gaussian", LOTS, grid),
        ToeplitzCounter(1, LOTS, grid),
        BufferedToeplitzCounter(1, LOTS, grid),
        ExactCounter(1, grid),
        ShuffledBits(crowd),
        ShuffledBits(crowd, categories=question.width),
        SkellamShares(1 << 30, (BATCH,), question.width, grid),
    ]


def described(question: Any, mechanism: Any, trust: str, promise: tuple[float, float] = (1.0, 1e-6)) -> Design:
    """The design that asks a question by a mechanism under a trust model, unchecked."""
    mixing = Mixing(BATCH) if trust == "shuffle" else None
    schedule = Schedule.sized(BATCH, BATCH)
    act = Act(mechanism, question.price(getattr(mechanism, "grid", 0.0)))
    return Design(question, act, Guarantee(trust, *promise), "tight", schedule, mixing=mixing)


def combinations() -> Iterator[Design]:
    """All of them, for the trust models that services have."""
    for question in questions().values():
        for mechanism in mechanisms(question):
            for trust in ("local", "shuffle", "joint"):
                yield described(question, mechanism, trust)
