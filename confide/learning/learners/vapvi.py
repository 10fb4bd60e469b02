"""Pessimistic value iteration with linear features from logged episodes: PEVI, VAPVI, DP-VAPVI and our own.

For h = H..1, with V_{h+1} public by then:

1. ask for sum phi phi', sum phi V(s')^2, sum phi V(s'); estimate Var_h V and v_h = max(1, Var_h V);     (not PEVI)
2. ask for sum phi phi'/v, sum phi (r + V(s'))/v; regress: w_h, Lambda_h;
3. Q_h = phi'w_h - Gamma_h clipped to [0, H-h+1], pi_h = argmax Q_h, V_h = max Q_h.

Gamma of `printed` is C sqrt(d) |phi|_{Lambda^-1} + D/K (Qiao and Wang 2023, Algorithm 2; Yin et al. 2022), of PEVI
c d H sqrt(log(2 d H K / failure)) |phi|_{Lambda^-1} (Jin, Yang and Wang 2021). D and what is added to matrices are as
printed under `paper`; D then exceeds H K for all but astronomical K (2 H^3 sqrt(d) for VAPVI), so that under `sound` it is 0
and matrices are raised by less: both are kinder to the published algorithm. lambda is 1 for features as they were given,
before they were divided by their bound. Gamma of `adaptive`, ours, is this many
standard deviations of phi'w_h, sampling error and noise of every answer included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ... import validation
from ...errors import InvalidInput
from ...mdp import Policy
from ...mdp.critic import Critic, ValueVariance, VectorPolicy
from ...mdp.knowledge import Knowledge
from ...mdp.linear import BlockFeatures, Features, LinearFeatures
from ...protocol.kinds.gram import VALUE, GramForm, GramQuestion, GramRelease
from ...protocol.releases.release import Array
from ...validation import Json
from ..planning import regression
from ..planning.regression import FLOOR, QUANTILE, Regression, regress
from .learner import Context

ADAPTIVE, PRINTED = "adaptive", "printed"


@dataclass(frozen=True, eq=False)
class LinearState:
    """The state of the learner: how many questions were answered, and what follows from the answers.

    critics: (H,), of the steps that were learned, None before; variances: of the step at hand.
    """

    form: GramForm
    number: int
    critics: tuple[Critic | None, ...]
    variances: ValueVariance | None = None

    @classmethod
    def blank(cls, form: GramForm) -> LinearState:
        """The state before the first answer."""
        return cls(form, 0, (None,) * form.horizon)

    @property
    def done(self) -> bool:
        """Whether every question was answered."""
        return self.number == len(self.form.questions)

    @cached_property
    def policy(self) -> Array:
        """(H, S, A) at the states of a table; every action alike where nothing was learned."""
        table, size = self._table(), self.form.features.actions
        alike = np.full((table.states, size), 1 / size)
        return np.array([alike if critic is None else np.eye(size)[critic.actions(table)] for critic in self.critics])

    @cached_property
    def values(self) -> Array:
        """(H+1, S) at the states of a table, pessimistic."""
        table = self._table()
        none = np.zeros(table.states)
        return np.array([*(none if critic is None else critic.value(table) for critic in self.critics), none])

    @property
    def recommendation(self) -> Policy | VectorPolicy:
        """The policy as people receive it."""
        features, learned = self.form.features, tuple(critic for critic in self.critics if critic is not None)
        return VectorPolicy(features, learned) if isinstance(features, BlockFeatures) else Policy(self.policy)

    def _table(self) -> LinearFeatures:
        features = self.form.features
        if not isinstance(features, LinearFeatures):
            raise InvalidInput(
                "vectors-have-no-table",
                "States that are vectors have no table of values. Ask for one with act or value.",
            )
        return features


@dataclass(frozen=True)
class Vapvi:
    """See the module. weighted: False is PEVI. tight: targets are centred. shift: see `planning.regression`. remainder: D, or
    None for the printed one, with kappa, the least eigenvalue of the mean of phi phi', or None for what the sums say of it.

    end_reward: what every step pays after an episode has ended; None if none ends early. scale: what the pessimism is
    multiplied by, None for `default_scale`; it never changes privacy.
    """

    features: Features
    weighted: bool = True
    pessimism: str = ADAPTIVE
    tight: bool = True
    split: bool = False
    shift: str = FLOOR
    ridge: float = 1.0
    constant: float = 1.0
    remainder: float | None = 0.0
    kappa: float | None = None
    failure: float = 0.1
    end_reward: float | None = None
    scale: float | None = None
    name: str = "vapvi"
    paper: str = "offline"

    @property
    def default_scale(self) -> float:
        """The default factor of Gamma: the papers' own constants, or half a deviation."""
        return 0.5 if self.pessimism == ADAPTIVE else 1.0

    def form(self, horizon: int) -> GramForm:
        """The family of questions: targets are centred where that is ours to choose and the features allow it."""
        centred = self.tight and self.features.constant
        return GramForm(self.features, horizon, self.weighted, centred, self.split, self.end_reward)

    def begin(self, context: Context, rng: np.random.Generator | None = None) -> LinearState:
        """Before the first answer; there is no chance in it, so `rng` is not used."""
        return LinearState.blank(self.form(context.spec.horizon))

    def ask(self, state: LinearState) -> GramQuestion:
        """The next question."""
        if state.done:
            raise InvalidInput(
                "questions-used-up", "Every statistic was computed. There is nothing left to learn from this log."
            )
        step, kind = state.form.questions[state.number]
        values = state.critics[step + 1] if step + 1 < state.form.horizon else None
        return GramQuestion(state.form, step, kind, values, state.variances if kind == VALUE else None)

    def learn(self, state: LinearState, release: GramRelease) -> LinearState:
        """The state after an answer."""
        question = release.question
        if state.done or (question.step, question.kind) != state.form.questions[state.number]:
            raise InvalidInput(
                "release-of-other-question", "This release is of another statistic than the one requested."
            )
        if question.kind == VALUE:
            critics = list(state.critics)
            critics[question.step] = self.critic(state.form, release)
            return replace(state, number=state.number + 1, critics=tuple(critics), variances=None)
        fitted = self.regression(release)
        first, second = state.form.middle(question.step, question.kind)
        squares, means = fitted.coefficients
        spread = ValueVariance(squares, means, (first, second), float(state.form.horizon - question.step))
        return replace(state, number=state.number + 1, variances=spread)

    def critic(self, form: GramForm, release: GramRelease) -> Critic:
        """The critic of a step, from the answer to its value question."""
        fitted = self.regression(release)
        step, scale = release.question.step, self.scale
        size = self.default_scale if scale is None else validation.number("scale", scale)
        (middle,) = form.middle(step, VALUE)
        multiplier, margin = size, 0.0
        if self.pessimism == PRINTED:
            people = max(release.users, 1)
            multiplier, margin = size * self._multiplier(form, people), size * self._remainder(fitted, release) / people
        return Critic(
            fitted.coefficients[0], self._covariance(fitted), middle, multiplier, margin, float(form.horizon - step)
        )

    def regression(self, release: GramRelease) -> Regression:
        """The regression from an answer, with the matrix raised as this learner does it."""
        return regress(release, self.ridge, self.shift, self.failure)

    def _remainder(self, fitted: Regression, release: GramRelease) -> float:
        """D, the remainder of the papers' bonus."""
        if self.remainder is not None:
            return self.remainder
        least = 1 / float(np.linalg.eigvalsh(fitted.inverse).max()) / max(release.users, 1)
        kappa = min(1.0, least if self.kappa is None else self.kappa)
        return regression.printed_remainder(release, kappa, self.failure)

    def _covariance(self, fitted: Regression) -> Array:
        """The covariance of the estimate: by sampling and noise, or as the papers have it, by sampling alone."""
        return fitted.covariance() if self.pessimism == ADAPTIVE else fitted.inverse

    def _multiplier(self, form: GramForm, people: int) -> float:
        """The papers' factor of |phi|_{Lambda^-1}."""
        d, horizon = self.features.dimension * self.features.blocks, form.horizon
        if self.weighted:
            return self.constant * math.sqrt(d)
        return self.constant * d * horizon * math.sqrt(math.log(2 * d * horizon * max(people, 1) / self.failure))


def vapvi(
    features: Any,
    calibration: str = "tight",
    pessimism: str | None = None,
    knowledge: Knowledge | None = None,
    **options: Any,
) -> Vapvi:
    """Variance-aware pessimistic value iteration with linear features: VAPVI, DP-VAPVI.

    features: a table (S, A, d), or features with a declared norm bound. knowledge: of the log, if it is real.
    """
    tight = calibration == "tight"
    known: Any = LinearFeatures.declared(features) if isinstance(features, np.ndarray | list) else features
    kind = validation.choice("pessimism", pessimism or (ADAPTIVE if tight else PRINTED), (ADAPTIVE, PRINTED))
    if knowledge is not None:
        sizes = knowledge.states, knowledge.spec.actions
        if isinstance(known, LinearFeatures):
            if (known.states, known.actions) != sizes:
                got = f"{known.states} states and {known.actions} actions"
                raise validation.refusal(
                    "features-of-other-sizes", "features", f"for {sizes[0]} states and {sizes[1]} actions", got
                )
            known = replace(known, allowed=knowledge.allowed[: knowledge.states])
        options = {"end_reward": knowledge.end_reward if knowledge.ends else None, **options}
    own: dict[str, Json] = {}
    if not tight:
        own = {"split": True, "shift": QUANTILE, "ridge": 1 / known.bound**2}
    if calibration == "paper":
        own |= {"shift": regression.PRINTED, "remainder": None}
    return Vapvi(known, pessimism=kind, tight=tight, **{**own, **options})


def pevi(features: Any, calibration: str = "tight", pessimism: str | None = None, **options: Any) -> Vapvi:
    """Pessimistic value iteration with linear features: PEVI."""
    learner = vapvi(features, calibration, pessimism, **{"split": False, "remainder": 0.0, **options})
    return replace(learner, weighted=False, name="pevi")
