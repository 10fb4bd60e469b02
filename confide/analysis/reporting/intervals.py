"""Intervals over seeds: how far a mean, a ratio of means or a measured power is uncertain because other seeds give other values.

All three are sums of logarithms of means, theta = sum_g sum_j w_gj log m_gj, where m_gj is the mean of column j of the n_g rows of
group g, one row a seed, and groups share no random numbers: a mean is exp(log m), a ratio is exp(log m_1 - log m_2), and a power is
the least-squares slope of log m_j over log x_j, whose weights are known. To first order (the delta method) the estimate differs
from theta as the mean over seeds of the scores

    s_gi = sum_j w_gj v_gij / m_gj,

so that its variance is V = sum_g V_g with V_g = sigma_g^2 / n_g, and its error is

    h = t V^(1/2),  t a quantile of Student's law with  V^2 / sum_g (V_g^2 / f_g)  degrees of freedom,

as Student has it for one group, and Welch (with Satterthwaite's degrees of freedom) for two.

Means and ratios: a moderated t. The scores of a mean are relative deviations, and few seeds say little of how large these are:
three that happen to be alike would have an interval of no width. So sigma_g^2 is not var(s_g) alone, but that together with a
prior that weighs d0 seeds of relative deviation s0 (Smyth 2004 has it for genes, of which there are many with few samples each):

    sigma_g^2 = (d0 s0^2 + (n_g - 1) var(s_g)) / (d0 + n_g - 1),   f_g = d0 + n_g - 1,   t at 98.5 %.

d0 = 6, s0 = 0.4 and the quantile, which is above 97.5 % because regrets are skewed, were chosen on 24 cells of real runs
(`tools.interval_choice`), and measured on 24 others: docs/intervals.md. With many seeds the prior fades.

A mean or ratio r, whose relative error is h, has the interval

    r (1 - h)  to  r / (1 - h):

below Student's interval of r, above that of 1 / r; both ends are wider than r exp(-h) to r exp(h). Regrets are skewed to the
right, so that a mean that is missed lies above; and where one seed makes most of a mean, its logarithm says too much. From h = 1 on
the seeds do not tell how large r is, and there is no interval. Both sides are treated alike: r and 1 / r have the same verdict.

What has no scale of its own has no prior: a power has theta +- h, a ratio seed by seed of the same random numbers r (1 - h) to
r / (1 - h), a mean that is not positive Student's interval, each with sigma_g^2 = var(s_g), f_g = n_g - 1 and t at 99 %. (A
ratio or power of means that are not positive has none.)

No interval that is made of ten seeds alone can count what happens in one seed of a hundred: where such seeds make much of the
mean, it holds the mean less often, and tables of runs say which share of all runs their seeds may have missed (`unseen_share`).

From one seed nothing is known of others: no interval, and no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
"""What is stated, and what real runs were seen to keep."""

PRIOR_SEEDS, PRIOR_DEVIATION = 6.0, 0.4
"""d0 and s0: what is known of relative deviations before the first seed, in seeds."""

QUANTILE, BARE_QUANTILE = 0.985, 0.99
"""Of Student's law at both ends, with the prior and without."""

NAME = "95 % moderated-t interval over seeds"
DASH = "-"
"""What stands for an interval where there is none."""

SeedValues = NDArray[np.float64]


class SeedInterval(NamedTuple):
    """An estimate, and the ends of its interval; both None where seeds do not tell."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def above_one(self) -> bool:
        """Whether the whole interval is above 1: of a ratio of losses, that one is behind."""
        return self.low is not None and self.low > 1

    @property
    def below_one(self) -> bool:
        """Whether the whole interval is below 1: of a ratio of losses, that one is ahead."""
        return self.high is not None and self.high < 1

    def ends(self, form: str) -> str:
        """The ends as text, each in this format, or a dash."""
        return DASH if self.low is None or self.high is None else f"{self.low:{form}} to {self.high:{form}}"

    def text(self, form: str = ".3g") -> str:
        """The value and the ends as text."""
        return f"{self.value:{form}} ({self.ends(form)})"


def mean_interval(values: SeedValues) -> SeedInterval:
    """The mean of one value a seed."""
    mean, count = float(values.mean()), len(values)
    if count == 1:
        return SeedInterval(mean)
    if mean > 0 and values.min() >= 0:
        return _around(mean, _error([values[:, None] / mean]))
    return student_interval(values)


def student_interval(values: SeedValues) -> SeedInterval:
    """The mean of one value a seed, of either sign, with Student's interval on its own scale."""
    mean, count = float(values.mean()), len(values)
    if count == 1:
        return SeedInterval(mean)
    half = _error([values[:, None]], prior=0.0)
    return SeedInterval(mean, mean - half, mean + half)


def ratio_interval(values: SeedValues, others: SeedValues, least: float = 0.0) -> SeedInterval:
    """The mean of one side over that of the other, which has seeds of its own; means below `least` count as that."""
    one, other = (max(float(side.mean()), least) for side in (values, others))
    value = one / other if other else math.nan if one == 0 else math.copysign(math.inf, one)
    if min(len(values), len(others)) == 1 or one <= 0 or other <= 0:
        return SeedInterval(value)
    return _around(value, _error([values[:, None] / one, others[:, None] / other]))


def paired_ratio_interval(values: SeedValues, others: SeedValues) -> SeedInterval:
    """The mean of one side over that of the other, seed by seed with the same random numbers: they are one group of scores."""
    one, other = float(values.mean()), float(others.mean())
    value = one / other if other else math.nan if one == 0 else math.copysign(math.inf, one)
    if len(values) == 1 or one <= 0 or other <= 0:
        return SeedInterval(value)
    return _around(value, _error([(values / one - others / other)[:, None]], prior=0.0))


def mean_band(rows: SeedValues) -> tuple[SeedValues, SeedValues]:
    """The ends (C,) of the intervals of the means of rows (seeds, C), as `mean_interval` has them; NaN where it has none."""
    ends = np.array([mean_interval(column)[1:] for column in rows.T], dtype=np.float64)
    return ends[:, 0], ends[:, 1]


def unseen_share(seeds: int) -> float:
    """The largest share of all runs that a kind of run can make and be missed by as many seeds with probability 5 % at least."""
    return float(1 - (1 - CONFIDENCE) ** (1 / seeds))


def power_interval(places: SeedValues, rows: SeedValues) -> SeedInterval:
    """The power by which the means (C,) of rows (seeds, C) grow with places (C,): the slope of their logarithms."""
    x = np.log(places) - np.log(places).mean()
    weights, means = x / (x * x).sum(), np.maximum(rows.mean(axis=0), np.finfo(np.float64).tiny)
    value = float((weights * np.log(means)).sum())
    if len(rows) == 1 or (rows.mean(axis=0) <= 0).any():
        return SeedInterval(value)
    half = _error([rows * weights / means], prior=0.0)
    return SeedInterval(value, value - half, value + half)


def _error(groups: Sequence[SeedValues], prior: float = PRIOR_SEEDS) -> float:
    """h of groups whose rows are the terms w_gj v_gij / m_gj of the scores. prior: d0."""
    free = [prior + len(rows) - 1 for rows in groups]
    variances = [
        (prior * PRIOR_DEVIATION**2 + (len(rows) - 1) * float(rows.sum(axis=1).var(ddof=1))) / freedom / len(rows)
        for rows, freedom in zip(groups, free, strict=True)
    ]
    total = sum(variances)
    if total == 0:
        return 0.0
    joined = total**2 / sum(each**2 / freedom for each, freedom in zip(variances, free, strict=True))
    return _quantile(joined, QUANTILE if prior else BARE_QUANTILE) * math.sqrt(total)


def _quantile(freedom: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, level))


def _around(value: float, error: float) -> SeedInterval:
    """The interval of a positive estimate with this relative error."""
    return SeedInterval(value) if error >= 1 else SeedInterval(value, value * (1 - error), value / (1 - error))
