"""Mutants of what some people report in place of asked pairs: their return, by one randomised bit."""

from __future__ import annotations

from .planted import Mutant

TESTS = "tests/protocol/kinds/test_asked_return.py"
KIND = "protocol/kinds/asked_return.py"
ATTACKED = ("local/asked-k-ary/return",)
AS_PRIVATE = "What is reported is as private as before; what is read off it is wrong."
PAGES = ("tests/js/test_laws.py::test_pages_draw_the_laws_that_are_priced",)

MUTANTS = (
    Mutant(
        "the bit of a return is flipped with twice the epsilon",
        KIND,
        "SampledStep(naming(mechanism).epsilon, BITS, KARY)",
        "SampledStep(2 * naming(mechanism).epsilon, BITS, KARY)",
        (f"{TESTS}::test_devices_flip_bits_as_often_as_is_stated",),
        ATTACKED,
    ),
    Mutant(
        "only who was paid reports a return",
        "data/statistics/answers.py",
        "    if row < question.pairs:\n        return _of_pair(question, trajectory, row, integers)\n",
        "    if row < question.pairs or not trajectory.rewards.any():\n"
        "        return _of_pair(question, trajectory, min(row, question.pairs - 1), integers)\n",
        (f"{TESTS}::test_no_message_tells_two_people_apart_by_more_than_epsilon",),
        ATTACKED,
    ),
    Mutant(
        "a return is not rounded at random: whoever earned anything reports a one",
        "data/statistics/answers.py",
        "cells[int(integers(FINE, 1)[0] < share * FINE)] = 1",
        "cells[int(share > 0)] = 1",
        (f"{TESTS}::test_the_return_by_hand",),
        unseen=AS_PRIVATE,
    ),
    Mutant(
        "what is paid is reported where what it costs is asked for",
        "data/statistics/answers.py",
        'earned if question.objective == "reward" else trajectory.steps - earned',
        "earned",
        (f"{TESTS}::test_the_return_by_hand",),
        unseen=AS_PRIVATE,
    ),
    Mutant(
        "returns are estimated in shares of the horizon",
        KIND,
        "returned = [question.spec.horizon * ones, float(people[-1])]",
        "returned = [ones, float(people[-1])]",
        (f"{TESTS}::test_sums_of_returns_are_unbiased_and_as_noisy_as_stated",),
        unseen=AS_PRIVATE,
    ),
    Mutant(
        "a law may have any share of people report their return",
        KIND,
        "        if int(member.law[-1]) * self.one_in != int(member.law.sum()):\n",
        "        if member.law[-1] < 0:\n",
        (f"{TESTS}::test_a_law_keeps_to_the_contracts_share",),
        unseen="Every law is as private as any other: the share is what people were told.",
    ),
    Mutant(
        "the last pair is asked about too seldom",
        KIND,
        "np.append(pairs * (self.one_in - 1), pairs.sum())",
        "np.append(pairs * self.one_in, pairs.sum())",
        (f"{TESTS}::test_the_return_by_hand",),
        unseen="Every law is as private as any other.",
    ),
    Mutant(
        "a report about a return may name any category",
        "protocol/releases/report.py",
        "    beyond = bool(cells[:, naming.categories :].any()) if naming.categories else False\n",
        "    beyond = False\n",
        (f"{TESTS}::test_reports_of_returns_are_bytes_within_limits",),
        unseen="It is about what a hostile device sends, not about what an honest one gives away.",
    ),
    Mutant(
        "grouped reports may name as many categories as they like",
        "protocol/releases/sums.py",
        "bits >> categories == 0 and names in (None, bits.bit_count())",
        "bits >> categories == 0",
        (f"{TESTS}::test_grouped_reports_of_subsets_name_as_many_categories_as_honest_ones",),
        unseen="It is about what a hostile device sends, not about what an honest one gives away.",
    ),
    Mutant(
        "simulated users all report pairs",
        "lab/simulation/batched.py",
        "rng.binomial(people, 1 - question.share)",
        "rng.binomial(people, 0.0)",
        (f"{TESTS}::test_groups_report_returns_as_often_as_the_law_says",),
        unseen="It is about who is simulated.",
    ),
    Mutant(
        "the interval of a mean return leaves out the flips",
        KIND,
        "horizon**2 * (of_returns(mechanism).variance() + 0.25)",
        "horizon**2 * 0.25",
        (f"{TESTS}::test_the_return_by_hand",),
        unseen=AS_PRIVATE,
    ),
    Mutant(
        "a page flips the bit of a return with twice the epsilon",
        "js/src/returns.js",
        "rare(epsilon)",
        "rare(2 * epsilon)",
        PAGES,
        ("local/asked-k-ary/return/browser",),
    ),
    Mutant(
        "a page reports a return where the law says a pair",
        "js/src/returns.js",
        "below(sumOf(law)) >= law[pairs]",
        "below(sumOf(law)) >= 2 * law[pairs]",
        PAGES,
        unseen="Every law is as private as any other.",
    ),
)
