"""LinUCB from noisy moments: the published algorithms for linear contextual bandits under privacy, for comparison.

Shariff and Sheffet 2018, "Differentially Private Contextual Linear Bandits" (joint; their noise that is shifted until it is
positive definite), and Zheng, Cai, Huang, Li and Wang 2020, "Locally Differentially Private (Contextual) Bandits Learning" (local;
Gaussian noise on what every user sends). Both act on x with, for every action a,

    V_a = G_a + (ridge + 2 Gamma) I,    theta_a = V_a^-1 b_a,    index = <x, theta_a> + c beta_a sqrt(x' V_a^-1 x),
    beta_a = 1/2 sqrt(2 log(1/delta) + log det(V_a/rho)) + xi/sqrt(rho) + T sqrt(ridge + 3 Gamma),    rho = ridge + Gamma,

Gamma and xi being the error radii of the released G and b, and T = 1 a bound on |theta_a|: the ellipsoid of Shariff and Sheffet
with the range [ridge + Gamma, ridge + 3 Gamma] of what is added to V. Sums, clip and noise are those of `linear`, so that the claim
of privacy is true and the comparison is of learners alone. c scales the ellipsoid. Where noise exceeds its radius, eigenvalues of
V_a below rho are raised to it. Before the first release weights are drawn from the prior, as those of `linear`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp.feature_policy import FeaturePolicy
from ...protocol.kinds.moments import MomentsQuestion, MomentsRelease
from ..planning.moments import TAU, Array
from .linear import FEATURES, FeatureContext, FeatureState, scales

LARGEST = 1.0
"""T."""


@dataclass(frozen=True, eq=False)
class OptimisticPolicy(FeaturePolicy):
    """widths: (blocks, d, d). The action with the largest <x, weights> + sqrt(x' widths x) is taken."""

    widths: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0, 0)))

    def chosen(self, step: int, features: Array) -> NDArray[np.int64]:
        """(n,) the actions taken in states with these features."""
        scores = self.features.scores(features, self.weights[step])
        if len(self.widths) == 1:
            squares = np.einsum("nai,ij,naj->na", features, self.widths[0], features)
        else:
            x = features[:, 0]
            squares = np.stack([((x @ each) * x).sum(axis=1) for each in self.widths], axis=1)
        return np.asarray((scores + np.sqrt(np.maximum(squares, 0.0))).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class OptimisticState(FeatureState):
    """Also the widths of the policy in use."""

    widths: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0, 0)))

    @property
    def policies(self) -> tuple[FeaturePolicy, ...]:
        """The policies in use."""
        features = self.context.question.features
        if not len(self.widths):
            return super().policies
        return (OptimisticPolicy(features, self.weights[0], self.widths),)


@dataclass(frozen=True)
class LinUcb:
    """c: the scale of the ellipsoid."""

    c: float = 1.0
    ridge: float = 1.0
    models: int = 8

    name = "linucb"
    family = FEATURES

    def __post_init__(self) -> None:
        validation.between("c", self.c, 0.0, 1e6)
        validation.positive("ridge", self.ridge)
        validation.integer("models", self.models, 1, 1024)

    def begin(self, context: FeatureContext, rng: np.random.Generator) -> OptimisticState:
        """Before the first person: weights are drawn from the prior."""
        question = context.question
        if not question.single:
            raise InvalidInput("linucb-one-step", "linucb is for bandits with features, of one step. Choose linear.")
        shape = (self.models, 1, question.features.blocks, question.features.dimension)
        drawn = np.random.default_rng(rng.integers(1 << 62))
        return OptimisticState(context, TAU * drawn.standard_normal(shape), 0, drawn)

    def ask(self, state: FeatureState) -> MomentsQuestion:
        """The moments, always the same."""
        return state.context.question

    def learn(self, state: OptimisticState, release: MomentsRelease) -> OptimisticState:
        """The ellipsoids of all actions."""
        question = release.question
        noise, error = release.radius[0], release.radius[1] / float(scales(question)[0])
        least = self.ridge + noise
        blocks, size = question.features.blocks, question.features.dimension
        weights, widths = np.empty((1, 1, blocks, size)), np.empty((blocks, size, size))
        for block in range(blocks):
            values, basis = np.linalg.eigh(release.gram[0, block])
            values = np.maximum(values + self.ridge + 2 * noise, least)
            inverse = (basis / values) @ basis.T
            weights[0, 0, block] = inverse @ (release.vector[0, block, :, 0] / float(scales(question)[0]))
            spread = math.sqrt(2 * math.log(1 / release.failure) + float(np.log(values / least).sum()))
            beta = spread / 2 + error / math.sqrt(least) + LARGEST * math.sqrt(self.ridge + 3 * noise)
            widths[block] = (self.c * beta) ** 2 * inverse
        return replace(state, weights=weights, widths=widths, users=release.users)


def linucb(c: float = 1.0, ridge: float = 1.0, models: int = 8) -> LinUcb:
    """LinUCB from noisy moments, for the catalogue."""
    return LinUcb(c, ridge, models)
