"""Off-policy evaluation with linear features: the value of a policy from the very answers that it was learned from.

Let V_h be the learner's values, pi its policy, e_h the error of its regression at step h and Gamma_h what it took off.
Then r + P V_{h+1} - V_h = Gamma_h + e_h at the actions of pi, but for clipping, which only makes it smaller in size. So

    V^pi - V_1 = sum_h E_pi [Gamma_h + e_h],

and V_1, averaged over the people's first states, was asked for. Where pi leads is not known from these answers; so Gamma_h
and the deviation of e_h are taken at their smallest and largest over states: all states of a table, or all vectors of
length at most 1. The value of current practice is the mean return, which is released too.

The estimate is V_1 itself. A chosen action looks better than it is: errors at chosen actions have the same sign at every
step, so deviations of steps are added, not their squares, and what Gamma takes off V_1 makes up for it. All of this holds
as far as values are linear in the features. Another policy's value would need another target of the regressions, which
no question covered. How often intervals hold is measured on simulated logs by the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ... import validation
from ...mdp.critic import Critic
from ...mdp.linear import Features, LinearFeatures
from ...protocol.kinds.gram import GramForm
from ...protocol.kinds.values import ValuesRelease
from ...protocol.releases.release import Array
from .estimates import Estimate
from .regression import Regression

CONFIDENCE = 0.95

Shift: TypeAlias = tuple[float, float]
NO_SHIFT: Shift = (0.0, 0.0)


class StepUncertainty(NamedTuple):
    """Uncertainty of one step: the smallest and the largest Gamma at the actions of the policy, and the largest deviation of e."""

    least: float
    most: float
    deviation: float


Steps: TypeAlias = Sequence[StepUncertainty]
"""The uncertainty of every step."""


def step_uncertainty(form: GramForm, critic: Critic, fitted: Regression) -> StepUncertainty:
    """The uncertainty of one step. Residuals vary as `residual_variance` says, whatever the learner takes them for."""
    features, spread = form.features, fitted.covariance(residual_variance(form, critic.top))
    if isinstance(features, LinearFeatures):
        best = critic.actions(features)[:, None]
        gamma = np.take_along_axis(critic.gamma(features), best, axis=1)
        error = Critic(critic.weights, spread, 0.0, 1.0, 0.0, critic.top).deviation(features)
        return StepUncertainty(
            float(gamma.min()), float(gamma.max()), float(np.take_along_axis(error, best, axis=1).max())
        )
    return StepUncertainty(
        critic.margin, critic.multiplier * _largest(critic.covariance) + critic.margin, _largest(spread)
    )


def shift_of(features: Features, first: Critic, second: Critic) -> Shift:
    """Between which bounds one V differs from another: over all states of a table, or all vectors of length 1."""
    if isinstance(features, LinearFeatures):
        change = second.value(features) - first.value(features)
        return float(change.min()), float(change.max())
    reach = float(np.linalg.norm(second.weights - first.weights, axis=-1).max())
    reach += max(critic.multiplier * _largest(critic.covariance) + critic.margin for critic in (first, second))
    return -reach, reach


def residual_variance(form: GramForm, top: float) -> float:
    """The most that r + V may vary over v: with weights v >= max(1, Var V) it is (sqrt(Var V) + 1/2)^2/v <= 9/4."""
    return 2.25 if form.weighted else (top / 2) ** 2


def _largest(forms: Array) -> float:
    """The largest sqrt(x'D x) over vectors of length at most 1 and blocks."""
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(forms)[:, -1], 0.0).max()))


def practice(sums: ValuesRelease, horizon: int, confidence: float = CONFIDENCE) -> Estimate:
    """The value of current practice: people's mean return."""
    mean, deviation = _mean(sums.returned, sums, horizon)
    width = _quantile(confidence) * math.hypot(deviation, sums.noise / sums.users)
    return _estimate((mean, mean - width, mean + width), width, confidence, (0.0, float(horizon)))


def value(
    sums: ValuesRelease, steps: Steps, horizon: int, shift: Shift = NO_SHIFT, confidence: float = CONFIDENCE
) -> Estimate:
    """The value of the learned policy. shift: by how much V_1 differs from the one that was asked about."""
    mean, deviation = _mean(sums.predicted, sums, horizon)
    spread = math.hypot(deviation, sums.noise / sums.users)
    return _around(mean, spread, steps, shift, confidence, (0.0, float(horizon)))


def gain(
    sums: ValuesRelease, steps: Steps, horizon: int, shift: Shift = NO_SHIFT, confidence: float = CONFIDENCE
) -> Estimate:
    """The gain of the learned policy over current practice."""
    (predicted, predicted_deviation), (returned, returned_deviation) = (
        _mean(total, sums, horizon) for total in (sums.predicted, sums.returned)
    )
    deviation = math.hypot(predicted_deviation + returned_deviation, math.sqrt(2) * sums.noise / sums.users)
    return _around(predicted - returned, deviation, steps, shift, confidence, (-float(horizon), float(horizon)))


def _around(
    start: float, deviation: float, steps: Steps, shift: Shift, confidence: float, bounds: tuple[float, float]
) -> Estimate:
    """The estimate from `start` on, widened by what every step leaves uncertain; bounds: no value is beyond them."""
    quantile = _quantile(confidence)
    width = quantile * (deviation + sum(doubt.deviation for doubt in steps))
    least = start + shift[0] + sum(doubt.least for doubt in steps)
    most = start + shift[1] + sum(doubt.most for doubt in steps)
    return _estimate((start + sum(shift) / 2, least - width, most + width), width / quantile, confidence, bounds)


def _mean(total: float, sums: ValuesRelease, horizon: int) -> tuple[float, float]:
    """A mean over people of a number in [0, H], and its deviation by sampling, at most sqrt(m (H - m)/n)."""
    mean = min(max(total / sums.users, 0.0), float(horizon))
    return mean, math.sqrt(mean * (horizon - mean) / sums.users)


def _estimate(
    span: tuple[float, float, float], deviation: float, confidence: float, bounds: tuple[float, float]
) -> Estimate:
    """The estimate whose value, low and high end are brought within bounds."""
    value, low, high = (min(max(number, bounds[0]), bounds[1]) for number in span)
    return Estimate(value, low, high, deviation, confidence)


def _quantile(confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + validation.between("confidence", confidence, 0.5, 1 - 1e-9)) / 2))
