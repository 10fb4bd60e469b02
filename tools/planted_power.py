"""Mutants of returns, of their public range, and of the gain that would have been found."""

from __future__ import annotations

from .planted import Mutant

RANGE, POWER, RETURNS = (
    "tests/analysis/fitting/test_return_range.py",
    "tests/analysis/fitting/test_power.py",
    "tests/data/privatizers/test_returns.py",
)

MUTANTS = (
    Mutant(
        "in simulated worlds the best actions are those that are chosen most often",
        "learning/planning/dispersed.py",
        '    best = np.argsort(-worth, axis=1, kind="stable")\n',
        '    best = np.argsort(worth, axis=1, kind="stable")\n',
        (f"{POWER}::test_in_rare_worlds_the_better_an_action_is_the_less_often_it_is_chosen",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "what is paid after an end is rounded to a sixteenth",
        "data/statistics/counting.py",
        "        round(knowledge.end_reward * tally.RETURN),\n",
        "        round(knowledge.end_reward * 16) * (tally.RETURN // 16),\n",
        (f"{RANGE}::test_what_is_paid_after_an_end_is_exact",),
        unseen="Everybody is counted alike: it is the meaning of the sum that is wrong, not its price.",
    ),
    Mutant(
        "returns are priced for their range and not clipped to it",
        "data/statistics/tabular.py",
        "    shares = np.clip((earned - question.low) / (question.high - question.low), 0.0, 1.0)\n",
        "    shares = (earned - question.low) / (question.high - question.low)\n",
        (f"{RETURNS}::test_no_replaced_episode_moves_the_sums_by_more_than_is_charged",),
        ("fit/gaussian/return-range",),
    ),
    Mutant(
        "returns are rounded up, always",
        "data/statistics/tabular.py",
        "    return (low + (uniforms < scaled - low)).astype(np.int64)\n",
        "    return (low + (scaled > low)).astype(np.int64)\n",
        (f"{RETURNS}::test_rounding_is_right_on_average",),
        unseen="A rounded return is within its range whichever way it is rounded.",
    ),
    Mutant(
        "squares of returns weigh four times as much, at the same price",
        "protocol/kinds/returns.py",
        "        return 4 * self.points * total, 4 * self.squares * square, count * self.points**2\n",
        "        return 4 * self.points * total, 16 * self.squares * square, count * self.points**2\n",
        (f"{RETURNS}::test_no_replaced_episode_moves_the_sums_by_more_than_is_charged",),
        unseen="Returns have 3 % of a fit's promise: all of it together gives away a few per cent more than certified.",
    ),
    Mutant(
        "returns are asked for in [0, H] and counted in their range",
        "analysis/fitting/plan.py",
        "ReturnsQuestion.of(knowledge.spec.horizon, pure, knowledge.returns)",
        "ReturnsQuestion.of(knowledge.spec.horizon, pure)",
        (f"{RANGE}::test_returns_beyond_the_declared_range_are_clipped",),
        unseen="The sums are the same and the price of either range is 1.",
    ),
    Mutant(
        "current practice may be worth more than returns can be",
        "learning/planning/practice.py",
        "    mean = min(max(centred + (returns.low + returns.high) / 2, returns.low), returns.high)\n",
        "    mean = centred + (returns.low + returns.high) / 2\n",
        (f"{RANGE}::test_current_practice_is_within_the_range_whatever_the_noise",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "values are bounded by steps and not by the range of returns",
        "mdp/knowledge.py",
        "        return bounds if self.returns is None else bounds.within(",
        "        return bounds if True else bounds.within(",
        (f"{RANGE}::test_what_can_follow_keeps_to_the_range",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "a fit forgets the range when it is loaded",
        "analysis/results/fit.py",
        '        tables["returns"] = np.array(knowledge.returns)\n',
        "        pass\n",
        (f"{RANGE}::test_a_fit_keeps_the_range_in_all_that_it_writes",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "the gain that would have been found is the upper end of an interval",
        "analysis/fitting/power.py",
        '"gain": found[1.0], "largest"',
        '"gain": in_units(plan.evidence.compare(plan.extended).high), "largest"',
        (f"{POWER}::test_where_nothing_would_have_been_found_that_is_said",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "a gain is stated that is beyond all that can be gained",
        "analysis/fitting/findings.py",
        "        return min((self.high - self.low) * worth, max(self.most - practice, 0.0))\n",
        "        return (self.high - self.low) * worth\n",
        ("tests/analysis/fitting/test_first_screen.py",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "what is unknown is not held against a gain that would have been found",
        "analysis/fitting/power.py",
        "(shifted - expected.unknown) / deviation",
        "shifted / deviation",
        (f"{POWER}::test_what_is_unknown_is_held_against_a_gain",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "simulated releases have no luck",
        "learning/planning/ope.py",
        "    seen = expected + louder * np.sqrt(expected) * rng.standard_normal(expected.shape)\n",
        "    seen = expected + 0 * rng.standard_normal(expected.shape)\n",
        (f"{POWER}::test_simulated_releases_have_the_luck_and_the_noise_of_real_ones",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
    Mutant(
        "actions of simulated worlds differ by half of what is said",
        "learning/planning/dispersed.py",
        "        chances[layer] = (1 - size) * law\n",
        "        size = size / 2\n        chances[layer] = (1 - size) * law\n",
        (f"{POWER}::test_worlds_keep_what_the_release_says_of_states_and_differ_in_actions",),
        unseen="What is said of a release after it was made is nobody's privacy.",
    ),
)
