"""Mutants of tokens and alarms: each lets a user take part twice, with another's token or none, or send what no device sends."""

from __future__ import annotations

from .planted import Mutant

COLLECTED, TICKETS = "tests/service/collector/test_tokens.py", "tests/service/intermediary/test_ticket_tokens.py"
ALARMS = "tests/service/collector/test_alarms.py"
SUMS = "tests/protocol/releases/test_plausibility.py"
WHO = "The noise is as certified: who may take part is not what is drawn."

MUTANTS = (
    Mutant(
        "a token is good for every contract of its issuer",
        "service/contract/tokens.py",
        "_CONTEXT + contract + period.to_bytes(4)",
        "_CONTEXT + period.to_bytes(4)",
        (f"{COLLECTED}::test_without_a_token_nothing_is_counted",),
        unseen=WHO,
    ),
    Mutant(
        "any bytes of the right length are a token",
        "service/contract/tokens.py",
        "return len(token) == TOKEN_BYTES and self.key.verifies(self.signed(nonce), signature)",
        "return len(token) == TOKEN_BYTES",
        (f"{COLLECTED}::test_without_a_token_nothing_is_counted",),
        unseen=WHO,
    ),
    Mutant(
        "a token is good for any number of ids",
        "service/collector/store.py",
        " and arrival.token.startswith(arrival.id)",
        "",
        (f"{COLLECTED}::test_of_a_group_those_with_tokens_are_counted_and_each_is_answered_in_its_place",),
        unseen=WHO,
    ),
    Mutant(
        "what a doubtful round taught is published at once",
        "service/collector/alarms.py",
        "    if doubt:",
        "    if doubt and not rounds:",
        (f"{ALARMS}::test_what_a_doubtful_round_taught_waits_until_the_doubt_is_gone",),
        unseen=WHO,
    ),
    Mutant(
        "after an alarm what is published is trusted always",
        "service/collector/alarms.py",
        "return trusted is not None and excess",
        "return trusted is not None or excess",
        (f"{ALARMS}::test_after_an_alarm_the_policy_stays_if_its_pair_was_unremarkable_when_that_was_learned",),
        unseen=WHO,
    ),
    Mutant(
        "a token buys a new place each time it is shown",
        "service/intermediary/store.py",
        "fresh = [nonce for nonce in nonces if nonce not in given]",
        "connection.execute(spent.delete().where(spent.c.nonce.in_(nonces)))\n            given, fresh = {}, nonces",
        (f"{TICKETS}::test_a_token_has_one_place_whenever_it_is_shown",),
        unseen=WHO,
    ),
    Mutant(
        "sums of counts are tested cell by cell, never in all",
        "protocol/releases/plausibility.py",
        "for what, least, most, many, times in tested:",
        "for what, least, most, many, times in tested[:1]:",
        (f"{SUMS}::test_cells_that_could_be_each_are_seen_by_their_total",),
        unseen=WHO,
    ),
    Mutant(
        "honest counts are given no room for their noise",
        "protocol/releases/plausibility.py",
        "if beyond > off:",
        "if beyond > 0.1 * off:",
        (f"{SUMS}::test_honest_counts_raise_no_alarm_and_a_tenth_of_extreme_reports_does",),
        unseen=WHO,
    ),
    Mutant(
        "what a shuffler added up is never judged",
        "service/collector/sources.py",
        "if not contract.design.devices:",
        "if contract.intermediary is not None:",
        (f"{ALARMS}::test_a_shuffled_batch_is_judged_by_its_sum",),
        unseen=WHO,
    ),
)
