"""Mutants of people who judge: of the price of their scores, of their noise, and of who they are."""

from __future__ import annotations

from .planted import Mutant

MUTANTS = (
    Mutant(
        "scores of those who judge are not clipped",
        "protocol/kinds/judged.py",
        "inside = np.clip(np.nan_to_num(numbers, nan=0.0), low, 1.0)",
        "inside = np.nan_to_num(numbers, nan=0.0, posinf=9.0, neginf=-9.0)",
        ("tests/protocol/kinds/test_judged.py::test_what_is_beyond_the_clip_is_cut_off",),
        ("fit/gaussian/judged",),
    ),
    Mutant(
        "the numbers of the test are not shortened",
        "protocol/kinds/judged.py",
        "most = 1 - (math.sqrt(TESTS) + 0.01) / POINTS",
        "most = 99.0",
        ("tests/protocol/kinds/test_judged.py::test_no_pair_of_people_is_further_apart_than_the_price[residuals]",),
        ("fit/gaussian/judged",),
    ),
    Mutant(
        "everybody in a group adds four to its size, for the price of a half",
        "protocol/kinds/judged.py",
        "each = round(EACH * self.resolution)",
        "each = 4 * self.resolution",
        ("tests/protocol/kinds/test_judged.py::test_no_pair_of_people_is_further_apart_than_the_price[groups]",),
        ("fit/gaussian/judged/groups",),
    ),
    Mutant(
        "scores of those who judge are summed without noise",
        "data/privatizers/judged.py",
        "drawn = mechanism.steps(self.noise, (family.cells,))",
        "drawn = 0 * mechanism.steps(self.noise, (family.cells,))",
        ("tests/analysis/fitting/test_adopting.py::test_noise_is_as_large_as_it_says_and_what_is_closed_stays_closed",),
        ("fit/gaussian/judged",),
    ),
    Mutant(
        "who is lost to follow-up adds twenty to a cell, for the price of one",
        "data/statistics/tally.py",
        "sums.lost[s * rules.frame.actions + a if away else sums.lost.size - 1] += 1",
        "sums.lost[s * rules.frame.actions + a if away else sums.lost.size - 1] += 20",
        ("tests/data/statistics/test_lost.py::test_no_two_people_are_further_apart_than_the_price",),
        ("fit/gaussian/lost",),
    ),
    Mutant(
        "as many people are drawn as their weights add up to",
        "data/statistics/choosing.py",
        "mine = np.sort(np.lexsort((words, keys))[:many])",
        "mine = np.sort(np.lexsort((words, keys))[: max(many, int(self.weight.sum()))])",
        ("tests/data/statistics/test_by_weight.py::test_everybody_is_drawn_as_often_as_their_weight_says",),
        ("fit/gaussian/weight",),
    ),
    Mutant(
        "people are drawn by weights that the others' weights scale",
        "data/statistics/choosing.py",
        "uniform / np.where(self.weight > 0, self.weight, 1.0), np.inf)",
        "(uniform * self.weight.sum()) % 1.0 / np.where(self.weight > 0, self.weight, 1.0), np.inf)",
        ("tests/data/statistics/test_by_weight.py::test_one_who_is_replaced_exchanges_one_who_is_drawn",),
        unseen="whoever does not know the fit's key sees the same law: that few are exchanged holds given the key",
    ),
    Mutant(
        "those who judge are in the sums of features too",
        "data/statistics/counting.py",
        "lived.add(rows, episodes[-1], base, episodes[-1].counted, gone)",
        "lived.add(rows, episodes[-1], base, episodes[-1].counted | True, gone)",
        ("tests/analysis/fitting/test_featured.py::test_those_who_judge_are_in_no_sum",),
        unseen="fits with features have no attack of their own",
    ),
    Mutant(
        "a user's moments in a log are three times as long as they may be",
        "data/statistics/logged_moments.py",
        "rounded = np.rint(cells * kept[:, None] / grid)",
        "rounded = np.rint(3 * cells * kept[:, None] / grid)",
        ("tests/analysis/fitting/test_featured.py::test_no_two_people_of_a_log_are_further_apart_than_the_price",),
        unseen="fits with features have no attack of their own",
    ),
    Mutant(
        "those who judge are counted too",
        "data/statistics/keeping.py",
        "mine = fresh[words >= np.uint64(min(round(share * 2.0**64), 2**64 - 1))]",
        "mine = fresh",
        ("tests/analysis/fitting/test_adopting.py::test_everybody_is_counted_or_judges",),
        unseen="nobody is left who judges: that who judges is not counted is no claim about one release",
    ),
)
