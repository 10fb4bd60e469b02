"""Mutants of tokens and alarms: each lets a user take part twice, with another's token or none, or send what no device sends."""

from __future__ import annotations

from .planted import Mutant

COLLECTED, TICKETS = "tests/service/collector/test_tokens.py", "tests/service/intermediary/test_ticket_tokens.py"
ALARMS = "tests/service/collector/test_alarms.py"
SUMS = "tests/protocol/releases/test_plausibility.py"
SLOTS, SLOTTED = "tests/service/contract/test_slots.py", "tests/service/intermediary/test_slot_tokens.py"
PAGE = "tests/js/test_one_report.py::test_a_page_keeps_to_one_report"
PATTERNS = f"{SLOTS}::test_no_pattern_that_tokens_allow_costs_more_than_the_price[64-2-3-8]"
PERIODS, RENEWED = "tests/service/contract/test_periods.py", "tests/service/device/test_returning.py"
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
        "fresh = [nonce for nonce in named if nonce not in given]",
        "connection.execute(spent.delete().where(spent.c.nonce.in_(named)))\n            given, fresh = {}, list(named)",
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
    Mutant(
        "a token of one slot gets a place in the batches of later ones",
        "service/intermediary/store.py",
        "while len(places) < number and batch in within:",
        "while len(places) < number and batch >= within.start:",
        (f"{SLOTTED}::test_a_token_of_a_slot_gets_no_place_in_another",),
        unseen=WHO,
    ),
    Mutant(
        "an issuer gives a person tokens of any slots",
        "service/issuer/app.py",
        "if slots is not None and not slots.allows(had, slot, recent):",
        "if slots is None and had:",
        (f"{SLOTTED}::test_an_issuer_gives_a_person_no_two_tokens_too_close",),
        unseen=WHO,
    ),
    Mutant(
        "slots of one person may be neighbours however far apart visits must be",
        "service/contract/slots.py",
        "1 + math.ceil((taken.apart - 1) / width)",
        "1",
        (PATTERNS,),
        unseen=WHO,
    ),
    Mutant(
        "slots count their batches from 0 on",
        "service/contract/slots.py",
        "return (batch - 1) // self.width",
        "return batch // self.width",
        (f"{SLOTS}::test_a_slot_too_close_or_one_too_many_is_refused",),
        unseen=WHO,
    ),
    Mutant(
        "a device comes again too soon",
        "service/contract/slots.py",
        "all(abs(one - batch) >= taken.apart for one in batches)",
        "batch not in batches",
        (f"{SLOTS}::test_a_device_keeps_its_batches_apart",),
        unseen=WHO,
    ),
    Mutant(
        "several reports of a person are each calibrated as if it were the only one",
        "protocol/trusts/local.py",
        "return one_of(request.promise, request.participation.times, gaussian",
        "return one_of(request.promise, 1, gaussian",
        (f"{SLOTS}::test_local_reports_of_a_person_compose_to_the_guarantee",),
        unseen="What is certified is computed from the design, and so is worse than what was requested: a contract refuses it.",
    ),
    Mutant(
        "a collector that puts its clock forward renews guarantees early",
        "service/device/periods.py",
        "return max([min(signed, own), *visits])",
        "return max([signed, *visits])",
        (f"{RENEWED}::test_a_guarantee_is_renewed_when_service_and_device_say_so",),
        unseen=WHO,
    ),
    Mutant(
        "a device whose clock goes back has the visits of an old period again",
        "service/device/periods.py",
        "return max([min(signed, own), *visits])",
        "return min(signed, own)",
        (f"{RENEWED}::test_a_guarantee_is_renewed_when_service_and_device_say_so",),
        unseen=WHO,
    ),
    Mutant(
        "in a new period visits may be as close as one likes to those of the one before",
        "service/contract/slots.py",
        "not often and all(abs(one - batch) >= taken.apart for one in batches)",
        "not often and (recent == 0 or all(abs(one - batch) >= taken.apart for one in batches))",
        (f"{PERIODS}::test_no_pattern_of_several_periods_costs_more_than_is_stated",),
        unseen=WHO,
    ),
    Mutant(
        "several periods of a curator's service are stated as one",
        "protocol/trusts/joint.py",
        "counter = design.counter.visited(times)",
        "counter = design.counter.visited(min(times, design.counter.participations))",
        (f"{PERIODS}::test_no_pattern_of_several_periods_costs_more_than_is_stated",),
        unseen="What is certified of several periods is in words; no noise is drawn for it.",
    ),
    Mutant(
        "an issuer gives tokens of a period beyond those that are priced",
        "service/issuer/app.py",
        "recent = None if period is None else sum(when == period for _, when in had.values())",
        "recent = None if period is None else 0",
        (f"{SLOTTED}::test_an_issuer_gives_a_person_as_many_tokens_a_period_as_are_priced",),
        unseen=WHO,
    ),
    Mutant(
        "in a page: a collector that puts its clock forward renews guarantees early",
        "js/src/returning.js",
        "Math.max(Math.min(signed, own), ...visits)",
        "Math.max(signed, ...visits)",
        (f"{PAGE}[periods]",),
        unseen=WHO,
    ),
    Mutant(
        "in a page: a device comes again too soon",
        "js/src/returning.js",
        "Math.abs(one[4] - batch) < apart",
        "one[4] === batch",
        (f"{PAGE}[apart]",),
        unseen=WHO,
    ),
    Mutant(
        "in a page: several reports are checked as if there were one",
        "js/src/returning.js",
        "keepsAll(loss, guarantee, times)",
        "keeps(loss, guarantee)",
        (f"{PAGE}[several]",),
        unseen="A page draws the noise that the contract states; what it checks is not what is drawn.",
    ),
)
