"""Mutants of noise that devices add in shares, and of its account."""

from __future__ import annotations

from .planted import Mutant

ACCOUNT = "tests/privacy/test_skellam.py"
SHARES = "tests/mechanisms/test_skellam.py"
DESIGNS = "tests/protocol/test_shares.py"

MUTANTS = (
    Mutant(
        "a share is for four times as many honest people as there are",
        "mechanisms/skellam.py",
        "        return tuple(SkellamShare(self.rate, people, self.grid) for people in self.honest)",
        "        return tuple(SkellamShare(self.rate, 4 * people, self.grid) for people in self.honest)",
        (f"{DESIGNS}::test_every_report_has_one_length_and_sums_are_what_was_counted",),
        ("shuffle/bandit",),
        samples=40_000,
    ),
    Mutant(
        "the noise of shares is calibrated to the counts and not to their grid",
        "mechanisms/skellam.py",
        "        return skellam_loss(variance, sensitivity.l1 / self.grid, sensitivity.l2 / self.grid, cut)",
        "        return skellam_loss(variance, sensitivity.l1, sensitivity.l2, cut)",
        (f"{DESIGNS}::test_bytes_survive_and_shares_for_other_batches_are_refused",),
        unseen="The rate is found by the right sizes, so that designs keep their noise; a false one is accepted from bytes.",
    ),
    Mutant(
        "shares of one's own are not asked whether they keep their guarantee",
        "mechanisms/registry.py",
        "    _require_kept(name, made.loss(sensitivity), guarantee)\n    return made\n",
        "    return made\n",
        ("tests/test_examples.py::test_shares_that_break_their_promise_are_refused",),
        unseen="no shares of ours are registered that way",
    ),
    Mutant(
        "where the noise of a sum ends, what shows is not charged",
        "mechanisms/shares.py",
        "    return tuple(curve), l1 * tail",
        "    return tuple(curve), 0.0",
        ("tests/mechanisms/test_shares.py::test_where_the_noise_ends_a_change_shows_and_delta_pays_for_it",),
        unseen="no shares of ours have a table; those that are registered end far out, where delta is below what an attack sees",
    ),
    Mutant(
        "the loss of shares is that of all honest people, however few are left",
        "mechanisms/shares.py",
        'law_of_sum(self.share(counted), validation.integer("people", each, 1))',
        'law_of_sum(self.share(counted), validation.integer("people", counted, 1))',
        ("tests/mechanisms/test_shares.py::test_fewer_honest_people_hide_less_and_the_worst_size_counts",),
        unseen="it changes what a certificate says of fewer people, and no noise",
    ),
    Mutant(
        "a quarter of what Renyi divergences add up to is charged",
        "privacy/skellam.py",
        "        curve.append((order, gaussian * l2**2 + beyond * l1))",
        "        curve.append((order, gaussian * l2**2 / 4 + beyond * l1))",
        (f"{ACCOUNT}::test_cells_that_share_a_change_are_no_worse_than_the_bound",),
        ("shuffle/bandit",),
        samples=40_000,
    ),
    Mutant(
        "what lies beyond the table of a Skellam law is not charged",
        "privacy/skellam.py",
        "    return top + math.log(float(np.exp(terms - top).sum()) + beyond)",
        "    return top + math.log(float(np.exp(terms - top).sum()))",
        (f"{ACCOUNT}::test_a_table_that_is_too_short_never_tells_too_little",),
        unseen="Tables are long enough for the rest to be below what floats round; the bound is what proves it.",
    ),
    Mutant(
        "the tail of a Skellam law is taken to fall as if it were not shifted",
        "privacy/skellam.py",
        " - order * math.asinh((most - shift) / variance)",
        " - order * math.asinh((most + shift) / variance)",
        (f"{ACCOUNT}::test_a_table_that_is_too_short_never_tells_too_little",),
        unseen="Tables are long enough for the rest to be below what floats round; the bound is what proves it.",
    ),
    Mutant(
        "no heads are always kept",
        "mechanisms/skellam.py",
        "        kept[none] = noise.integers(2, none.size) == 1",
        "        kept[none] = True",
        (f"{SHARES}::test_draws_have_the_law_and_no_other",),
        unseen="A share is smaller by a quarter of its variance, which so many samples hardly tell at this epsilon.",
    ),
    Mutant(
        "in a page: of a share's Poisson variable no heads are always kept",
        "js/src/shares.js",
        "    let kept = heads > 0 || coin();",
        "    let kept = true;",
        ("tests/js/test_laws.py::test_pages_draw_the_laws_that_are_priced",),
        unseen="The audit attacks sums of shares that Python draws; the law of a page's is tested.",
    ),
    Mutant(
        "in a page: half of the rate of the contract is believed",
        "js/src/shares.js",
        "  return poisson(rate, people) - poisson(rate, people);",
        "  return poisson(rate >> 1, people) - poisson(rate >> 1, people);",
        ("tests/js/test_one_report.py::test_a_page_keeps_to_one_report[shares]",),
        unseen="The audit attacks sums of shares that Python draws; the variance of a page's is tested.",
    ),
    Mutant(
        "in a page: a contract with too little noise in its shares is joined",
        "js/src/shares.js",
        ".some((one) => one <= guarantee.delta)",
        ".some((one) => one <= 1)",
        ("tests/js/test_one_report.py::test_a_page_keeps_to_one_report[refused]",),
        unseen="What a device refuses is no matter of what is sent.",
    ),
    Mutant(
        "shares are chosen where nobody can claim the guarantee of a shuffler",
        "protocol/defaults.py",
        "        able = frozenset(row for row in able if row[1] != SHARES)",
        "        able = frozenset(able)",
        (f"{DESIGNS}::test_they_are_chosen_where_the_guarantee_can_be_claimed_and_nowhere_else",),
        unseen="Whom a service trusts is no matter of what is sent.",
    ),
)
