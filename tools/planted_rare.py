"""Mutants of a single step, of centred rewards, and of the visits that both are read with."""

from __future__ import annotations

from .planted import Mutant

BANDIT = "tests/protocol/kinds/test_bandit.py"
BUDGETED = "tests/protocol/kinds/test_budgeted.py"
SINGLE = "tests/learning/planning/test_single_step.py"

MUTANTS = (
    Mutant(
        "rewards centred below 1/2 are priced as at 1/2",
        "protocol/kinds/budgeted.py",
        "        return 2 * (centre**2 + (1 - centre) ** 2)\n",
        "        return max(1.0, 2 * farthest(centre) ** 2)\n",
        (f"{BUDGETED}::test_prices_by_centre_are_reached",),
        unseen="At the sizes of an attack two people are further apart by it by a fortieth, which no bound here reaches.",
    ),
    Mutant(
        "half the visits are free wherever rewards are centred",
        "protocol/kinds/budgeted.py",
        "            return 2 * (farthest(centre) ** 2 + (1.0 if VISITS in parts else 0.25))\n",
        "            return 2 * (farthest(centre) ** 2 + 1.0) if VISITS in parts else 1.0\n",
        (f"{BUDGETED}::test_prices_by_centre_are_reached",),
        unseen="Devices and curators centre rewards at 1/2, where nothing changes.",
    ),
    Mutant(
        "a single step is priced at half",
        "protocol/kinds/bandit.py",
        "        return Sensitivity(l1, math.sqrt(max(1.0, 0.5 + 2 * w**2)), ((l1, 1),), 4)",
        "        return Sensitivity(l1, math.sqrt(max(1.0, 0.5 + 2 * w**2) / 2), ((l1, 1),), 4)",
        (f"{BANDIT}::test_the_price_by_hand",),
        ("central/bandit/gaussian",),
    ),
    Mutant(
        "a single step in another pair is priced as in the same",
        "protocol/kinds/bandit.py",
        "math.sqrt(max(1.0, 0.5 + 2 * w**2))",
        "math.sqrt(1.0)",
        (f"{BANDIT}::test_no_two_people_are_further_apart_than_the_price",),
        unseen="Attacked is the kind at c = 1/2, where both are 1.",
    ),
    Mutant(
        "the centre is ignored in reading",
        "protocol/kinds/counts.py",
        "parts[CENTRED] + question.centre * visits if",
        "parts[CENTRED] + 0.5 * visits if",
        (
            f"{BANDIT}::test_visits_and_rewards_are_read_with_the_noise_that_they_have",
            f"{SINGLE}::test_rewards_and_practice_are_read_by_their_centre",
        ),
        unseen="Nobody is told more by it: it is a mistake of who reads.",
    ),
    Mutant(
        "the centre is ignored in counting a data set",
        "data/statistics/tally.py",
        "(2 * level - frame.centre) * (unit // (2 * levels))",
        "(2 * level - levels) * (unit // (2 * levels))",
        ("tests/data/statistics/test_counting.py",),
        unseen="At c = 1/2, which is the only centre that is attacked, nothing changes.",
    ),
    Mutant(
        "visits of a single step are taken to have the noise of a cell",
        "protocol/kinds/counts.py",
        "        return math.sqrt(cells_of_visits(self)) if self.spec.horizon == 1 else None\n",
        "        return 1.0 if self.spec.horizon == 1 else None\n",
        (f"{SINGLE}::test_errors_of_the_parts_are_independent_and_visits_have_twice_the_noise",),
        unseen="Nobody is told more by it: it is a mistake of who reads.",
    ),
    Mutant(
        "visits of a single step are taken as exact",
        "learning/planning/ope.py",
        "(cells.louder**2 * self.visited**2).sum()",
        "(0 * self.visited**2).sum()",
        (f"{SINGLE}::test_the_noise_of_a_gain_is_that_of_its_estimates",),
        unseen="Nobody is told more by it: it is a mistake of who reads.",
    ),
    Mutant(
        "visits are sums over all next states, however many there are",
        "protocol/trusts/budgets.py",
        "    return counted.budget > 0 or (CENTRED in counted.counts.parts and width >= WIDE[gaussian])\n",
        "    return counted.budget > 0\n",
        ("tests/analysis/fitting/test_rare.py",),
        unseen="It is sound, and says too much of what was gained.",
    ),
)
