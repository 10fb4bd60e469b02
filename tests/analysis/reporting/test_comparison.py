"""Tests between runs: closed forms, the share of equal sides that are said to differ, and Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, ttest_ind, ttest_rel

from confide.analysis.reporting.comparison import LEVEL, Contrast, RunRow, contrast, escaped, holm, run_table
from confide.analysis.reporting.intervals import SeedInterval, paired_ratio_interval, unseen_share
from tools.interval_coverage import stored

ONE, OTHER = np.array([3.0, 4.0, 5.0, 8.0]), np.array([2.0, 3.5, 4.0, 6.0])
PAIRS, ALARM = 400, 1e-6
"""Pairs of groups of real runs, and how often, with other seeds, the bound below fails although all is right."""


def test_the_p_values_are_those_of_the_named_tests() -> None:
    assert contrast(("a", "b"), ONE, OTHER, paired=True).p == pytest.approx(ttest_rel(ONE, OTHER).pvalue)
    assert contrast(("a", "b"), ONE, OTHER[:3], paired=False).p == pytest.approx(
        ttest_ind(ONE, OTHER[:3], equal_var=False).pvalue
    )
    assert contrast(("a", "b"), ONE, ONE, paired=True).p == 1.0
    single = holm([contrast(("a", "b"), ONE[:1], OTHER[:1], paired=True)])[0]
    assert single.p is None and single.adjusted is None and "do not tell" in single.verdict


def test_what_both_sides_share_narrows_the_paired_ratio() -> None:
    common = np.array([1.0, 5.0, 2.0, 9.0, 3.0])
    found = paired_ratio_interval(2 * common, common)
    assert found == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_equal_sides_of_real_runs_are_seldom_said_to_differ(seeds: int) -> None:
    """In every world and under every guarantee, the worst of 12 together below the level with a margin of chance."""
    rng, wrong, made = np.random.default_rng(3), 0, 0
    for values in stored().values():
        for _ in range(PAIRS // 12):
            group = rng.choice(values, 2 * seeds, replace=False)
            for paired in (True, False):
                found = contrast(("a", "b"), group[:seeds], group[seeds:], paired=paired)
                wrong, made = wrong + (found.p is not None and found.p <= LEVEL), made + 1
    assert 0 < wrong <= binom.isf(ALARM, made, LEVEL)


def test_holm() -> None:
    ratio = SeedInterval(0.5, 0.4, 0.6)
    found = holm([Contrast("", "a", "b", ratio, "t", p) for p in (0.04, 0.01, 0.03, None)])
    assert [each.adjusted for each in found] == [pytest.approx(0.06), pytest.approx(0.03), pytest.approx(0.06), None]
    assert found[1].verdict == "a has less regret" and "do not tell" in found[0].verdict


def test_seeds_say_what_they_cannot_see() -> None:
    assert unseen_share(5) == pytest.approx(0.4507, abs=1e-4)
    assert (1 - unseen_share(10)) ** 10 == pytest.approx(0.05)


def test_tables_have_the_same_numbers_in_three_forms() -> None:
    rows = [
        RunRow({"learner": "a_b", "world": "w"}, 5, SeedInterval(12345.678, 1e4, 2e4), 0.25, "1-DP, local"),
        RunRow({"learner": "c", "world": "w"}, 5, SeedInterval(3.0), None, "no privacy"),
    ]
    text, values, latex = (run_table(rows, form, fixed="100 episodes") for form in ("text", "csv", "latex"))
    assert "1e+04 to 2e+04" in text and "up to 45%" in text and text.startswith("100 episodes\n")
    assert values.splitlines()[1] == 'a_b,w,5,12345.678,10000.0,20000.0,0.25,"1-DP, local"'
    assert values.splitlines()[2] == "c,w,5,3.0,,,,no privacy"
    assert r"a\_b & w & 1-DP, local & 12\,346 & 10\,000 to 20\,000 & 0.25 \\" in latex
    assert r"c & w & no privacy & 3 & -- & -- \\" in latex and r"\begin{tabular}{lllrrr}" in latex
    alike = run_table([row._replace(kept="1-DP, local") for row in rows], "latex")
    assert r"c & w & 3 & -- & -- \\" in alike and "% 1-DP, local" in alike, "what all keep is said once"
    named = run_table([row._replace(values={"guarantee": row.kept}) for row in rows], "latex")
    assert r"no privacy & 3 & -- & -- \\" in named, "what an axis says is not said again"
    assert escaped("50% & ~x^2 {y} \\") == r"50\% \& \textasciitilde{}x\textasciicircum{}2 \{y\} \textbackslash{}"
    assert "One seed has no interval" in run_table([rows[1]._replace(seeds=1)])
