"""Mutants of what the parts of a service remember: each lets a restored part go on, and a published value be drawn again."""

from __future__ import annotations

from .planted import Mutant

EXCHANGE, LEASE = "tests/service/intermediary/test_exchange.py", "tests/service/intermediary/test_lease.py"
CHAIN, RESTORED = "tests/service/device/test_chain.py", "tests/service/collector/test_restored.py"
SEALED = "tests/service/intermediary/test_sealed.py"
NO_NOISE = "A single draw has the noise that is certified: it is drawn once more, which only its memory forbids."


def forgets(what: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """Something that is not remembered, or not compared."""
    return Mutant(what, file, old, new, tests, unseen=NO_NOISE)


def uploads(what: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """A mistake about what is handed over sealed."""
    return Mutant(
        what, file, old, new, tests, unseen="A single draw has the noise that is certified: it is told before."
    )


MUTANTS = (
    forgets(
        "a collector believes a curator's head that is behind",
        "service/collector/sources.py",
        'check_follows(self.role, "closing", None if held is None else held.link, None if shown is None else shown.link)',
        "_ = held, shown",
        f"{EXCHANGE}::test_a_collector_believes_its_own_memory_of_what_came_before",
    ),
    forgets(
        "a collector takes the curator's word for what came before",
        "service/collector/sources.py",
        "previous = FIRST if number == 1 else closing.previous if before is None else before.digest",
        "previous = closing.previous",
        f"{EXCHANGE}::test_a_closing_that_skips_the_stored_one_is_not_taken",
    ),
    forgets(
        "a collector sees what was closed before it has stored the closing",
        "service/collector/sources.py",
        "        self._store.take(signed)\n",
        "",
        f"{EXCHANGE}::test_a_collector_stores_a_closing_before_it_sees_the_body",
    ),
    forgets(
        "a restored collector goes on although its own later head is shown to it",
        "service/collector/sources.py",
        "if stored is None or stored.digest != answer.head.digest:",
        "if stored is not None and stored.digest != answer.head.digest:",
        f"{EXCHANGE}::test_a_collector_that_is_behind_ends",
    ),
    forgets(
        "a curator or shuffler believes a collector that is behind",
        "service/intermediary/batch_manager.py",
        'check_follows("collector", "round", None if held is None else held.link, head.link)',
        "_ = check_follows",
        f"{EXCHANGE}::test_a_collector_that_is_behind_is_not_believed",
    ),
    forgets(
        "a restored curator or shuffler goes on although its own later closing is shown to it",
        "service/intermediary/batch_manager.py",
        "            self._check_own(shown.closing)\n",
        "",
        f"{EXCHANGE}::test_a_part_in_between_that_is_behind_ends",
    ),
    forgets(
        "a curator or shuffler does not notice that it lacks rounds of the collector",
        "service/intermediary/batch_manager.py",
        "if held is not None and head.head.round > held.head.round + 1:",
        "if held is None and head.head.round > 1:",
        f"{EXCHANGE}::test_a_round_that_was_stored_here_and_is_missing_is_a_proof",
    ),
    forgets(
        "a restored curator draws again before anybody has confirmed that nothing is missing",
        "service/intermediary/batch_manager.py",
        "        if not self.confirmed:\n            return False\n",
        "",
        f"{EXCHANGE}::test_nothing_happens_before_the_collector_has_confirmed",
    ),
    forgets(
        "what the collector signed for an earlier process confirms this one",
        "service/contract/exchange.py",
        "        if self.nonce != nonce:\n            return False\n",
        "",
        f"{EXCHANGE}::test_a_head_that_anybody_can_repeat_confirms_nothing",
    ),
    forgets(
        "a body is shown before the collector has stored its closing",
        "service/intermediary/batch_manager.py",
        "return None if row is None or number > self.store.received() else bytes(row.body)",
        "return None if row is None else bytes(row.body)",
        f"{EXCHANGE}::test_a_body_is_shown_when_the_collector_has_stored_its_closing",
    ),
    forgets(
        "a curator's folder may be older than its database",
        "service/intermediary/batch_manager.py",
        "if received > (0 if written is None else written.closing.number):",
        "if written is not None and received < 0:",
        f"{EXCHANGE}::test_a_folder_and_its_database_belong_together",
    ),
    forgets(
        "a collector's folder may be older than its database",
        "service/collector/closing.py",
        "            self._store.note_published(newest.head.round)\n",
        "",
        f"{RESTORED}::test_an_older_half_is_refused",
    ),
    forgets(
        "old sealed states are left in a curator's database",
        "service/intermediary/store.py",
        "            connection.execute(update(closings).values(state=None))\n",
        "",
        f"{EXCHANGE}::test_only_the_last_state_is_in_the_database",
    ),
    forgets(
        "old sealed states are left in the log of a curator's database",
        "service/intermediary/store.py",
        'raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")',
        'raw.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")',
        f"{EXCHANGE}::test_only_the_last_state_is_in_the_database",
    ),
    forgets(
        "a device forgets the highest head",
        "service/device/device.py",
        '                    chain.remember(memory, self.contract, current_round["signed"])\n',
        "",
        f"{CHAIN}::test_it_remembers_the_highest_across_restarts",
    ),
    forgets(
        "a device does not read the rounds that it missed",
        "service/device/chain.py",
        "for number in range(other.head.round if one is None else one.head.round + 1, other.head.round):",
        "for number in range(0):",
        f"{CHAIN}::test_it_remembers_the_highest_across_restarts",
    ),
    forgets(
        "a device keeps no proof",
        "service/device/device.py",
        "            chain.keep_proof(memory, error)\n",
        "",
        f"{CHAIN}::test_it_remembers_the_highest_across_restarts",
    ),
    forgets(
        "a device does not ask its witness how far the service has come",
        "service/device/following.py",
        "if latest is not None and latest.head.round > shown.head.round:",
        "if False:",
        f"{CHAIN}::test_a_witness_that_saw_more_is_believed",
    ),
    forgets(
        "the lease is not looked at",
        "service/intermediary/leasing.py",
        "if (not lease.address or now - self._seen[1] >= LEASE) and self._manager.begin(lease):",
        "if self._manager.begin(lease):",
        f"{LEASE}::test_one_holds_it_as_long_as_it_is_renewed",
    ),
    forgets(
        "the lease is never renewed",
        "service/intermediary/leasing.py",
        "            self._manager.renew()\n",
        "",
        f"{LEASE}::test_one_holds_it_as_long_as_it_is_renewed",
    ),
    forgets(
        "a lease is taken although it was renewed meanwhile",
        "service/intermediary/store.py",
        "if seen is not None and beat != seen.beat:",
        "if False:",
        f"{LEASE}::test_whoever_renews_in_time_keeps_it_though_another_was_about_to_take_it",
    ),
    forgets(
        "a process that lost the lease keeps what it holds",
        "service/intermediary/batch_manager.py",
        "            self.holds = self.confirmed = False\n",
        "            self.holds = False\n",
        f"{LEASE}::test_one_that_is_not_renewed_is_taken_over_and_the_frozen_one_does_no_harm",
    ),
    forgets(
        "a collector is ready however long its curator is silent",
        "service/collector/sources.py",
        "silent = time.monotonic() - self._heard > SILENCE",
        "silent = False",
        f"{EXCHANGE}::test_readiness_ends_with_silence",
    ),
    forgets(
        "a database that is cut off is opened",
        "service/http/databases.py",
        "        _check_sound(Path(url.removeprefix(SQLITE)))\n",
        "",
        f"{RESTORED}::test_a_damaged_database_is_one_sentence",
    ),
    uploads(
        "a shuffler lets a second report take the place of the first",
        "service/intermediary/batch_manager.py",
        "HeldUploads(spool, replaced=self.about.role == CURATOR)",
        "HeldUploads(spool, replaced=True)",
        f"{SEALED}::test_a_report_is_never_replaced",
    ),
    uploads(
        "sealed uploads are opened as soon as they come",
        "service/intermediary/held.py",
        "held.upload.opens <= 1000 * now",
        "held.upload.opens >= 0",
        f"{SEALED}::test_a_curator_opens_an_upload_at_its_time_and_not_before",
    ),
    uploads(
        "a batch that was closed while tickets were issued is closed again",
        "service/intermediary/batch_manager.py",
        " if number not in self._closed}",
        "}",
        "tests/service/intermediary/test_batch_manager.py"
        "::test_a_batch_is_closed_once_though_a_ticket_was_issued_meanwhile",
    ),
    uploads(
        "an upload is not bound to its ticket and time",
        "service/contract/sealed.py",
        'CONTEXT = b"confide.sealed/1\\n"',
        'CONTEXT = type("Nothing", (bytes,), {"__add__": lambda self, other: self})()',
        f"{SEALED}::test_an_upload_opens_for_its_key_ticket_time_and_version_alone",
    ),
    uploads(
        "copies of what is held are kept on a disk",
        "service/intermediary/held.py",
        "if path.is_absolute() and _in_memory(path.parent) and _ours(path):",
        "if path.is_absolute() and _ours(path):",
        f"{SEALED}::test_copies_are_kept_in_memory_alone_and_in_a_folder_of_our_own",
    ),
    uploads(
        "what a killed process held is forgotten",
        "service/intermediary/batch_manager.py",
        "            self._recover()\n",
        "",
        f"{SEALED}::test_a_killed_process_leaves_what_it_held_to_the_next",
    ),
)
