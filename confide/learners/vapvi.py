"""Pessimistic value iteration with linear features from logged episodes: PEVI, VAPVI, DP-VAPVI and our own.

For h = H..1, with V_{h+1} public by then:

1. ask for sum phi phi', sum phi V(s')^2, sum phi V(s'); estimate Var_h V and v_h = max(1, Var_h V);     (not PEVI)
2. ask for sum phi phi'/v, sum phi (r + V(s'))/v; regress: w_h, Lambda_h;
3. Q_h = phi'w_h - Gamma_h clipped to [0, H-h+1], pi_h = argmax Q_h, V_h = max Q_h.

Gamma of `printed` is C sqrt(d) |phi|_{Lambda^-1} + D/K (Qiao and Wang 2023, Algorithm 2; Yin et al. 2022), of PEVI
c d H sqrt(log(2 d H K / failure)) |phi|_{Lambda^-1} (Jin, Yang and Wang 2021); D is a knob, 0 by default, since the
papers' own (2 H^3 sqrt(d) for VAPVI) exceeds H for all but astronomical K. Gamma of `adaptive`, ours, is so many
standard deviations of phi'w_h, luck and noise of every answer included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import validation
from ..errors import InvalidInput
from ..mdp import Policy
from ..mdp.knowledge import Knowledge
from ..mdp.linear import LinearFeatures
from ..planning.regression import regress
from ..releases.gram import VALUE, GramForm, GramQuestion, GramRelease
from ..releases.release import Array

ADAPTIVE, PRINTED = "adaptive", "printed"


@dataclass(frozen=True, eq=False)
class LinearState:
    """Where the learner stands: how many questions were answered, and what follows from the answers.

    policy: (H, S, A); values: (H+1, S), pessimistic, with the end's in one more column; variances: (S, A) of the step
    at hand.
    """

    form: GramForm
    number: int
    policy: Array
    values: Array
    variances: Array

    @property
    def done(self) -> bool:
        """Whether every question was answered."""
        return self.number == len(self.form.questions)

    @property
    def recommendation(self) -> Policy:
        """The policy as people receive it."""
        return Policy(self.policy)


@dataclass(frozen=True)
class Vapvi:
    """See the module. weighted: False is PEVI. tight: targets centred and matrices shifted our way, not the paper's.

    end_reward: what every step pays after an episode has ended; None if none ends early.
    """

    features: LinearFeatures
    weighted: bool = True
    pessimism: str = ADAPTIVE
    tight: bool = True
    split: bool = False
    ridge: float = 1.0
    constant: float = 1.0
    remainder: float = 0.0
    failure: float = 0.1
    end_reward: float | None = None
    name: str = "vapvi"
    paper: str = "offline"

    @property
    def default_scale(self) -> float:
        """What Gamma is multiplied by unless told otherwise: the papers' own constants, or half a deviation."""
        return 0.5 if self.pessimism == ADAPTIVE else 1.0

    def form(self, horizon: int) -> GramForm:
        """What will be asked: targets centred where that is ours to choose and the features allow it."""
        centred = self.tight and self.features.constant
        return GramForm(self.features, horizon, self.weighted, centred, self.split, self.end_reward is not None)

    def begin(self, horizon: int) -> LinearState:
        """Before the first answer."""
        form = self.form(horizon)
        states, actions = self.features.states, self.features.actions
        policy = np.full((form.horizon, states, actions), 1 / actions)
        values = np.zeros((form.horizon + 1, form.next_states))
        if self.end_reward is not None:
            values[:, -1] = self.end_reward * np.arange(form.horizon, -1, -1)
        return LinearState(form, 0, policy, values, np.ones((states, actions)))

    def ask(self, state: LinearState) -> GramQuestion:
        """The next question."""
        if state.done:
            raise InvalidInput("Every question was asked. There is nothing left to learn from this log.")
        step, kind = state.form.questions[state.number]
        variances = state.variances if kind == VALUE else np.ones_like(state.variances)
        return GramQuestion(state.form, step, kind, state.values[step + 1], variances)

    def learn(self, state: LinearState, release: GramRelease, scale: float | None = None) -> LinearState:
        """The state after an answer; `scale` multiplies the pessimism and never changes privacy."""
        question = release.question
        if (question.step, question.kind) != state.form.questions[state.number]:
            raise InvalidInput("This release answers another question than the one that was asked.")
        found = regress(release, self.ridge, paper=not self.tight)
        phi, step = self.features.phi, question.step
        middle = state.form.middle(step, question.kind)
        left = float(state.form.horizon - step)
        if question.kind != VALUE:
            square = np.clip(found.predict(phi, 0) + middle[0], 0, left**2)
            mean = np.clip(found.predict(phi, 1) + middle[1], 0, left)
            return replace(state, number=state.number + 1, variances=np.maximum(1.0, square - mean**2))
        size = self.default_scale if scale is None else validation.number("bonus_scale", scale)
        if self.pessimism == ADAPTIVE:
            gamma = np.sqrt(found.doubt(phi))
        else:
            gamma = self._multiplier(state.form, release.users) * np.sqrt(found.luck(phi))
            gamma = gamma + self.remainder / max(release.users, 1)
        q = found.predict(phi) + middle[0] - size * gamma
        best = q.argmax(axis=1)
        policy, values = state.policy.copy(), state.values.copy()
        policy[step] = np.eye(self.features.actions)[best]
        values[step, : self.features.states] = np.clip(q.max(axis=1), 0, left)
        return replace(
            state, number=state.number + 1, policy=policy, values=values, variances=np.ones_like(state.variances)
        )

    def _multiplier(self, form: GramForm, people: int) -> float:
        """What |phi|_{Lambda^-1} is multiplied by in the papers."""
        d, horizon = self.features.dimension, form.horizon
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

    features: a table (S, A, d), or `LinearFeatures` with a declared norm bound. knowledge: of the log, if it is real.
    """
    tight = calibration == "tight"
    known = features if isinstance(features, LinearFeatures) else LinearFeatures.declared(features)
    kind = validation.choice("pessimism", pessimism or (ADAPTIVE if tight else PRINTED), (ADAPTIVE, PRINTED))
    if knowledge is not None:
        sizes = knowledge.states, knowledge.spec.actions
        if (known.states, known.actions) != sizes:
            got = f"{known.states} states and {known.actions} actions"
            raise validation.refusal("features", f"for {sizes[0]} states and {sizes[1]} actions", got)
        options = {"end_reward": knowledge.end_reward if knowledge.ends else None, **options}
    return Vapvi(known, pessimism=kind, tight=tight, **{"split": not tight, **options})


def pevi(features: Any, calibration: str = "tight", pessimism: str | None = None, **options: Any) -> Vapvi:
    """Pessimistic value iteration with linear features: PEVI."""
    made = vapvi(features, calibration, pessimism, split=False, **options)
    return replace(made, weighted=False, name="pevi")
