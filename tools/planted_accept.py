"""Mutants of what is accepted from outside, and of the length of what is sent."""

from __future__ import annotations

from .planted import Mutant

TABLE = "protocol/design.py"
CONSULTED = "design = require_accepted(_built(parts)).verified()"
NOT_CONSULTED = "design = _built(parts).verified()"
CONTRACTS, PRICED, LENGTHS = (
    "tests/service/contract/test_accepted.py",
    "tests/protocol/test_accepted.py",
    "tests/service/device/test_lengths.py",
)
READ = "Bytes are read before anything is drawn: no output tells which contracts are accepted."
SENT = "The audit sees the numbers of a report, not how many bytes they take."

MUTANTS = (
    Mutant(
        "pooled bits are priced by their number, not by the counters that they share",
        "protocol/kinds/bits.py",
        "return sensitivity(self.counts, weights={REWARDS: self.counts.levels})",
        "size = sensitivity(self.counts, weights={REWARDS: self.counts.levels})\n"
        "        bits = round(size.l1)\n"
        "        return Sensitivity(size.l1, bits**0.5, ((1.0, bits),), bits)",
        (f"{PRICED}::test_pooled_bits_are_priced_by_their_counters[gaussian_bits]",),
        unseen="Bits are shuffled only, where their number is what is priced; with other noise they are refused.",
    ),
    Mutant(
        "a counter of rewards that are told in m bits is priced as one of one bit",
        "protocol/kinds/bits.py",
        "return sensitivity(self.counts, weights={REWARDS: self.counts.levels})",
        "return sensitivity(self.counts)",
        ("tests/protocol/kinds/test_bits.py::test_how_far_one_person_moves_the_counters_by_brute_force",),
        unseen="The audit tells rewards in one bit.",
    ),
    Mutant(
        "asked pairs under a shuffler are priced as if everybody were asked about each",
        "protocol/trusts/shuffle.py",
        "    if find_kind(question.kind).first_visits:\n        return 1\n",
        "",
        (f"{PRICED}::test_a_person_may_be_alone_with_the_pair_she_is_asked_about",),
        unseen="Asked pairs are refused under a shuffler, so no design of them is attacked.",
    ),
    Mutant(
        "noise by part is believed where its larger radius begins",
        "protocol/design.py",
        "if mechanism.first is not None and mechanism.first != question.before_transitions:",
        "if False:",
        (f"{PRICED}::test_noise_by_part_is_refused_unless_its_parts_are_those_of_the_question",),
        unseen="A maker says where it begins, and that is true; only bytes say otherwise.",
    ),
    Mutant(
        "the table is consulted nowhere: a device takes part in what is not in it",
        TABLE,
        CONSULTED,
        NOT_CONSULTED,
        (f"{CONTRACTS}::test_a_device_takes_no_part_in_it",),
        unseen=READ,
    ),
    Mutant(
        "the table is consulted nowhere: a collector serves what is not in it",
        TABLE,
        CONSULTED,
        NOT_CONSULTED,
        (f"{CONTRACTS}::test_a_collector_does_not_serve_it",),
        unseen=READ,
    ),
    Mutant(
        "the table is consulted nowhere: what is not in it passes a check",
        TABLE,
        CONSULTED,
        NOT_CONSULTED,
        (f"{CONTRACTS}::test_it_does_not_pass_a_check",),
        unseen=READ,
    ),
    Mutant(
        "the table accepts Gaussian noise on bits",
        "protocol/kinds/bits.py",
        'by_trust(shuffle=("shuffled-bits",))',
        'by_trust(local=("gaussian",), shuffle=("shuffled-bits",))',
        ("tests/lab/audit/test_sweep.py::test_every_row_is_attacked",),
        unseen="Nothing makes such designs, so nothing attacks them: that a row has no attack is what the test notices.",
    ),
    Mutant(
        "a successor may assume more honest people",
        "service/contract/contract.py",
        'for name in ("epsilon", "delta", "rho", "honest"):',
        'for name in ("epsilon", "delta", "rho"):',
        (f"{CONTRACTS}::test_a_successor_that_assumes_more_honest_people_is_weaker",),
        unseen=READ,
    ),
    Mutant(
        "numbers are written in the smallest type that holds them",
        "protocol/releases/report.py",
        "        kind = written_type(design, self.level)\n",
        "        kind = written_type(design, self.level)\n"
        "        top = int(np.abs(self.cells).max(initial=0))\n"
        "        if kind in WHOLE_TYPES:\n"
        "            kind = next(number for number, form in WHOLE_TYPES.items() if top < 1 << (8 * int(form[-1]) - 1))\n",
        (f"{LENGTHS}::test_who_stays_sends_no_more_than_who_roams",),
        unseen=SENT,
    ),
    Mutant(
        "a report of another length is counted",
        "protocol/releases/report.py",
        "if kind != written_type(design, level) or len(data) != report_length(design, level):",
        "if kind not in (0, 1, *WHOLE_TYPES):",
        ("tests/protocol/releases/test_report.py::test_golden_bad_reports",),
        unseen=SENT,
    ),
    Mutant(
        "an episode is handed to a curator as long as it was",
        "data/trajectories/trajectory.py",
        "return head + states.tobytes() + actions.tobytes() + rewards.tobytes()",
        "steps = episode.steps\n"
        "    return head + states[: steps + 1].tobytes() + actions[:steps].tobytes() + rewards[:steps].tobytes()",
        (f"{LENGTHS}::test_every_episode_is_told_in_the_same_number_of_bytes[counts-toeplitz-joint]",),
        unseen=SENT,
    ),
    Mutant(
        "a law of pairs may be negative",
        "protocol/kinds/asked.py",
        "        or (law < 0).any()\n",
        "",
        ("tests/protocol/kinds/test_asked.py::test_a_law_that_is_none_is_refused",),
        unseen="A pair of negative weight is drawn by nobody; which pairs are drawn then is wrong, and no loss.",
    ),
)
