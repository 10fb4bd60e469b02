"""Mutants of grids that a hostile contract names, of what a successor may weaken, and of what is moved or misnamed meanwhile."""

from __future__ import annotations

from .planted import Mutant

GRIDS, CONTRACTS, EXCHANGES, ALIASES = (
    "tests/protocol/test_hostile_grids.py",
    "tests/service/contract/test_accepted.py",
    "tests/service/intermediary/test_exchange.py",
    "tests/analysis/fitting/test_aliases.py",
)
READ = "The audit draws with grids of our own, which are never so fine, or so coarse."
JOINED = "Which contract is joined is no output of a mechanism."
BETWEEN = "What the parts of a service ask each other is no output of a mechanism."

MUTANTS = (
    Mutant(
        "randomised response takes counts that are no whole numbers of bits, and sends nothing of them",
        "mechanisms/randomized_response.py",
        "if self.grid != 1:",
        "if self.grid > 1:",
        (f"{GRIDS}::test_randomised_response_counts_whole_bits_whatever_the_contract_says[parts0]",),
        unseen=READ,
    ),
    Mutant(
        "noise is added in floats, which round the noise alone",
        "mechanisms/randomizer.py",
        "on_grid(cells, self.grid).astype(np.int64)",
        "on_grid(cells, self.grid)",
        (f"{GRIDS}::test_noise_is_added_in_whole_numbers",),
        unseen=READ,
    ),
    Mutant(
        "a device accepts a grid on which its numbers are no floats",
        "protocol/trusts/local.py",
        "LARGEST = 2.0**46",
        "LARGEST = 2.0**60",
        (f"{GRIDS}::test_a_device_refuses_a_grid_on_which_its_numbers_are_no_floats",),
        unseen=READ,
    ),
    Mutant(
        "a counter has room for the average batch only, and refuses others",
        "protocol/trusts/joint.py",
        "most = design.schedule.users * design.question.range.furthest",
        "most = design.schedule.users",
        (f"{GRIDS}::test_a_counter_refuses_no_batch_for_what_people_did",),
        unseen=READ,
    ),
    Mutant(
        "a successor may take noise off devices before a shuffler",
        "service/contract/contract.py",
        "(alone is None or alone > before_alone):",
        "(alone is None or alone > 1000 * before_alone):",
        (f"{CONTRACTS}::test_a_successor_whose_devices_hide_less_by_themselves_is_weaker",),
        unseen=JOINED,
    ),
    Mutant(
        "a successor may send reports at once",
        "service/contract/contract.py",
        "if new.window < old.window:",
        "if 0 < new.window < old.window:",
        (f"{CONTRACTS}::test_a_successor_without_the_window_is_weaker",),
        unseen=JOINED,
    ),
    Mutant(
        "a collector that was once sent elsewhere stays there",
        "service/collector/sources.py",
        "            except ConfideError:\n                self.url = self._asked",
        "            except Unanswered:\n                self.url = self._asked",
        (f"{EXCHANGES}::test_a_wrong_word_about_the_lease_is_forgotten[joint-another service]",),
        unseen=BETWEEN,
    ),
    Mutant(
        "a collector goes to any address that it is told",
        "service/collector/sources.py",
        "if not answer.holder.startswith(SCHEMES):",
        "if not answer.holder:",
        (f"{EXCHANGES}::test_the_collector_goes_to_no_address_that_is_none[joint]",),
        unseen=BETWEEN,
    ),
    Mutant(
        "data that was moved while it was read is charged, and not known again",
        "analysis/fitting/budget.py",
        "if not os.path.exists(file):",
        "if not file:",
        (f"{ALIASES}::test_a_file_that_is_moved_while_it_is_read_is_not_charged",),
        unseen="A ledger is no output of a mechanism.",
    ),
)
