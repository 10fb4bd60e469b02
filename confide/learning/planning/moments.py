"""Linear models from noisy second moments: errors in variables, partial pooling, and plans over a public cloud of states.

**Squares.** G = sum x x' and b = sum x y are released with noise of variance s^2 off the diagonal of G and t^2 in b. For an
eigenpair (e, u) of
the noisy G, e2 = max(0, e^2 - (d+1) s^2) where e > 0, else 0: noise adds that much to e^2 on average. The direction's signal
is sqrt(e2) and
what disturbs u'b has variance S = v sqrt(e2) + t^2 + s^2 |theta|^2 (the sampling error of y, the noise of b, and that of G,
times what it is
multiplied by). With the prior N(m, tau^2) on u'theta the precision is P = e2/S + 1/tau^2, the mean m + sqrt(e2) u'(b - G m)/(S P).
No shift, no ridge and no definite matrix is needed: a direction that noise hides keeps its prior.

**Partial pooling.** Blocks (steps, actions) share a centre W0, estimated alike from sums over all of them; a block's prior
is N(W0, tau^2) with
tau of greatest marginal likelihood among nine: u'(b - G W0) ~ N(0, e2 tau^2 + S) in every direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mdp.described import DescribedFeatures

Array = NDArray[np.float64]

TAU = 0.3
"""The prior deviation of a weight."""
TAUS = TAU * 2.0 ** -np.arange(9)
"""Of deviations of blocks from what they share."""
PASSES = 2


class Disturbance(NamedTuple):
    """spread: (p,) v, the variance of each target; gram: s^2; vector: (p,) t^2."""

    spread: Array
    gram: float
    vector: Array


class Posterior(NamedTuple):
    """Weights (d, p) by direction: basis (d, d), its columns u; gain (d, p), of u'(b - G m); precision (d, p)."""

    basis: Array
    gain: Array
    precision: Array

    def mean(self, gram: Array, vector: Array, centre: Array) -> Array:
        """(d, p) the mean of the weights, given their centre."""
        return np.asarray(centre + self.basis @ (self.gain * (self.basis.T @ (vector - gram @ centre))))

    def drawn(self, rng: np.random.Generator, share: float) -> Array:
        """(d, p) a deviation from the mean, of this share of a standard deviation."""
        return np.asarray(self.basis @ (share / np.sqrt(self.precision) * rng.standard_normal(self.precision.shape)))


def squares(gram: Array, vector: Array, centre: Array, tau: Array, noise: Disturbance) -> Posterior:
    """The posterior of weights (d, p) with the prior N(centre, tau^2), tau (p,)."""
    values, basis = np.linalg.eigh(gram)
    known = np.where(values > 0, np.maximum(0.0, values**2 - (len(values) + 1) * noise.gram), 0.0)
    signal = np.sqrt(known)[:, None]
    rest = basis.T @ (vector - gram @ centre)
    weights = np.zeros_like(centre)
    for _ in range(PASSES):
        size = ((centre + weights) ** 2).sum(axis=0)
        hidden = np.maximum(noise.spread * signal + noise.vector + noise.gram * size, np.finfo(np.float64).tiny)
        precision = known[:, None] / hidden + 1 / tau**2
        gain = signal / hidden / precision
        weights = basis @ (gain * rest)
    return Posterior(basis, gain, precision)


def likeliest(gram: Array, vector: Array, centre: Array, noise: Disturbance, columns: slice) -> float:
    """tau of the greatest marginal likelihood of some columns among `TAUS`."""
    values, basis = np.linalg.eigh(gram)
    known = np.where(values > 0, np.maximum(0.0, values**2 - (len(values) + 1) * noise.gram), 0.0)[:, None]
    rest = (basis.T @ (vector - gram @ centre))[:, columns]
    size = (centre[:, columns] ** 2).sum(axis=0)
    hidden = noise.spread[columns] * np.sqrt(known) + noise.vector[columns] + noise.gram * size
    hidden = np.maximum(hidden, np.finfo(np.float64).tiny)
    scores = []
    for tau in TAUS:
        variance = known * tau**2 + hidden
        scores.append(float(-(np.log(variance) + rest**2 / variance).sum()))
    return float(TAUS[int(np.argmax(scores))])


class Beliefs(NamedTuple):
    """What is believed of the weights of all layers and blocks, before any is drawn."""

    gram: Array
    vector: Array
    centre: Array
    shared: Posterior
    parts: list[list[Posterior]]

    def drawn(self, rng: np.random.Generator, share: float) -> Array:
        """(L, blocks, d, p) weights, each drawn at a share of a standard deviation; what all have in common is drawn once."""
        centre = self.centre + self.shared.drawn(rng, share)
        weights = np.empty_like(self.vector)
        for place in np.ndindex(*self.gram.shape[:2]):
            part = self.parts[place[0]][place[1]]
            weights[place] = part.mean(self.gram[place], self.vector[place], centre) + part.drawn(rng, share)
        return weights


def pooled(gram: Array, vector: Array, noise: Disturbance, together: bool = True) -> Beliefs:
    """Beliefs about weights from sums (L, blocks, d, d) and (L, blocks, d, p). together: blocks share a centre; else it is zero."""
    size, targets = vector.shape[2:]
    many, none = gram.shape[0] * gram.shape[1], np.zeros((size, targets))
    wide = np.full(targets, TAU)
    if many == 1 or not together:
        parts = [
            [squares(gram[i, j], vector[i, j], none, wide, noise) for j in range(gram.shape[1])]
            for i in range(gram.shape[0])
        ]
        certain = Posterior(np.eye(size), np.zeros((size, targets)), np.full((size, targets), math.inf))
        return Beliefs(gram, vector, none, certain, parts)
    all_gram, all_vector = gram.sum(axis=(0, 1)), vector.sum(axis=(0, 1))
    louder = Disturbance(noise.spread, many * noise.gram, many * noise.vector)
    shared = squares(all_gram, all_vector, none, wide, louder)
    centre = shared.mean(all_gram, all_vector, none)
    parts = []
    for i in range(gram.shape[0]):
        row = []
        for j in range(gram.shape[1]):
            tau = np.empty(targets)
            for columns in (slice(0, 1), slice(1, None)):
                if targets > 1 or columns.start == 0:
                    tau[columns] = likeliest(gram[i, j], vector[i, j], centre, noise, columns)
            row.append(squares(gram[i, j], vector[i, j], centre, tau, noise))
        parts.append(row)
    return Beliefs(gram, vector, centre, shared, parts)


class Cloud(NamedTuple):
    """A public cloud of states. features: (N, B, d); fit: (1 + q, N), which fits values by a constant and psi."""

    described: DescribedFeatures
    features: Array
    fit: Array

    @classmethod
    def of(cls, described: DescribedFeatures) -> Cloud:
        """The cloud of a description."""
        points = described.cloud
        psi = np.column_stack([np.ones(len(points)), described.psi(points)])
        return cls(described, described.all_x(points), np.linalg.pinv(psi))


def plan(cloud: Cloud, horizon: int, rewards: Array, ahead: Array) -> Array:
    """(H, blocks, d) the weights of Q, up to constants, of the plan for rewards (L, blocks, d) and next features (L, blocks, d, q).

    Backwards, V_h on the cloud is the largest Q_h = 1/2 + <x, theta> + E V_{h+1}, cut to [0, H-h+1], and V is fitted by psi.
    """
    weights = np.zeros((horizon, *rewards.shape[1:]))
    middle, slope = 0.0, np.zeros(ahead.shape[-1])
    for step in reversed(range(horizon)):
        layer = step if len(rewards) > 1 else 0
        weights[step] = rewards[layer] + ahead[layer] @ slope
        if step:
            scores = 0.5 + middle + cloud.described.scores(cloud.features, weights[step])
            values = np.clip(scores, 0.0, horizon - step).max(axis=1)
            middle, *rest = cloud.fit @ values
            slope = np.array(rest)
    return weights
