"""UCRL-VTR, and LDP-UCRL-VTR where releases are noisy: optimism over value-targeted regressions.

Jia, Yang, Szepesvari and Wang 2020, "Model-Based Reinforcement Learning with Value-Targeted Regression"; Liao, He and
Gu 2021, "Locally Differentially Private Reinforcement Learning for Linear Mixture Markov Decision Processes".
Before person k, with sums over every user before her (their noise included),

    Sigma_h = ridge I + sum X X' + 2 Gamma I,    theta_h = Sigma_h^-1 sum X Y,      Gamma: the error radius of sum X X'
    Q_h(s,a) = min{H-h+1, r_h(s,a) + <theta_h, phi_V(s,a)> + beta_h ||Sigma_h^(-1/2) phi_V(s,a)||},   V = V_{h+1},
    V_h(s) = max_a Q_h(s,a).

**The radius.** Let ||theta_h|| <= T, let Y have a range of 2w, let the errors of X X' and X Y be at most Gamma and xi,
and rho = ridge + Gamma. Then with probability 1 - delta, for all people at once,

    ||theta_h - true||_Sigma <= w sqrt(2 log(1/delta) + log det(Sigma/rho)) + xi/sqrt(rho) + T sqrt(ridge + 3 Gamma):

Sigma - sum X X' lies between rho I and (ridge + 3 Gamma) I, and below Sigma; the first term is the self-normalised
bound of Abbasi-Yadkori, Pal and Szepesvari 2011. Without noise, ridge 1, delta = 1/K: the radius of UCRL-VTR,
sqrt(S A) + w sqrt(2 log K + log det M) for tables. With `floor` Sigma >= (sum X X' + rho I)/3, and the terms become
sqrt3 w sqrt(2 log K + log det(3 Sigma/rho)) + xi/sqrt(rho) + T (ridge + 3 Gamma)/sqrt(rho).

`beta="printed"` is the paper's for LDP-UCRL-VTR, d^(3/4) (H-h+1)^(3/2) k^(1/4), and `"published"` the one that it prints for
UCRL-VTR without privacy (Section 6, read as the source has it), c sqrt(d_1) + (H-h+1) sqrt(2 log K + log det M), d_1 = S A. The
paper multiplies the former by a constant c that it tunes, and sqrt(d_1) alone in the latter; we multiply all of ours.
Where values are scaled (see `questions.mixture`), all is in scaled units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import Policy
from ...protocol.kinds.mixture import MixtureForm, MixtureQuestion, MixtureRelease
from ..planning import value_targeted
from ..planning.least_squares import FLOOR, SHIFT, explain
from ..planning.value_targeted import Rule, plan, problem, workspace
from .learner import Context

Array = NDArray[np.float64]

DERIVED, PRINTED, PUBLISHED = "derived", "printed", "published"
RADII = {DERIVED: value_targeted.DERIVED, PRINTED: value_targeted.PRINTED, PUBLISHED: value_targeted.PUBLISHED}
TUNED = {DERIVED: (0.15, 0.01), PRINTED: (1.0, 1.0), PUBLISHED: (1.0, 1.0)}
"""The default c of each radius, for exact releases and for noisy ones, tuned on simulations (docs/research/linear-mixtures.md)."""

MIXTURE = "mixture"
"""The family of learners that ask about linear mixtures."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureContext(Context):
    """The context of a mixture learner: also the form of its questions, and known rewards (H, S, A)."""

    form: MixtureForm
    rewards: Array


@dataclass(frozen=True, eq=False)
class MixtureState:
    """The plan of the learner. policy: (H, S, A); values: (H+1, S), public both."""

    context: MixtureContext
    policy: Array
    values: Array

    @property
    def policies(self) -> Array:
        """(1, H, S, A) the policy in use."""
        return self.policy[None]


@dataclass(frozen=True)
class UcrlVtr:
    """beta: `derived` from the release's radius, or `printed` or `published` as in the paper. c multiplies it, or the
    paper's part of it, by default as we tuned.

    definite: how noisy matrices are made positive definite, `floor` or `shift`.
    """

    beta: str = DERIVED
    c: float | None = None
    definite: str = FLOOR
    ridge: float = 1.0

    name = "ucrl-vtr"
    family = MIXTURE

    def __post_init__(self) -> None:
        validation.choice("beta", self.beta, TUNED)
        validation.choice("definite", self.definite, (SHIFT, FLOOR))
        if self.c is not None:
            validation.between("c", self.c, 0.0, 1e12)
        validation.between("ridge", self.ridge, 0.0, 1e12)

    def begin(self, context: MixtureContext, rng: np.random.Generator | None = None) -> MixtureState:
        """Before the first person: nothing is known."""
        return self._planned(context, np.zeros(context.form.cells), 0.0, 0.0, 0)

    def ask(self, state: MixtureState) -> MixtureQuestion:
        """The question with the value function that the next person's device is to use."""
        return MixtureQuestion(state.context.form, state.values)

    def learn(self, state: MixtureState, release: MixtureRelease) -> MixtureState:
        """Regress on all users so far and plan optimistically."""
        cells = state.context.form.pack(release.gram, release.vector)
        return self._planned(state.context, cells, release.radius.gram, release.radius.vector, release.users)

    def _planned(self, context: MixtureContext, cells: Array, gram: float, vector: float, users: int) -> MixtureState:
        form, work = context.form, workspace(context.form)
        shape = (form.layers, form.features.blocks, form.block_cells)
        failed = plan(
            problem(form, context.rewards), self.rule(context), cells.reshape(shape), gram, vector, float(users), work
        )
        if failed >= 0:
            raise explain(failed, form.features.blocks, users, self.ridge, gram)
        policy = Policy.deterministic(work.actions, form.spec.actions)
        return MixtureState(context, policy.probabilities, work.values)

    def rule(self, context: MixtureContext) -> Rule:
        """The learner's constants; delta = 1/K."""
        confidence = 2 * math.log(max(context.users, 2))
        exact, noisy = TUNED[self.beta] if self.c is None else (self.c, self.c)
        scale = context.bonus_scale
        return Rule(exact * scale, noisy * scale, self.ridge, RADII[self.beta], self.definite == FLOOR, confidence)


def ucrl_vtr(beta: str = DERIVED, c: float | None = None, definite: str = FLOOR, ridge: float = 1.0) -> UcrlVtr:
    """Value-targeted regression, for the catalogue."""
    return UcrlVtr(beta, c, definite, ridge)
