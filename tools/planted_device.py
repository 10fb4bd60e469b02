"""Mutants of what a device remembers, whom it believes, and when it sends; in Python and in JavaScript."""

from __future__ import annotations

from .planted import Mutant

UNSEEN = "it changes who is believed, or how often and when a report is sent; the audit attacks the noise of one report"
PAGE = "tests/js/test_one_report.py::test_a_page_keeps_to_one_report"


def _planted(what: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    named = tuple(f"{PAGE}[{test}]" if "::" not in test else f"tests/service/device/{test}" for test in tests)
    return Mutant(what, file, old, new, named, unseen=UNSEEN)


def _page(what: str, module: str, old: str, new: str, *tests: str) -> Mutant:
    return _planted(f"in a page: {what}", f"js/src/{module}.js", old, new, *tests)


MUTANTS = (
    _page(
        "a direction that is not favoured is as rare as at twice epsilon",
        "features",
        "    while (place >= favoured && !exp(epsilon));",
        "    while (place >= favoured && !exp(2 * epsilon));",
        "unit",
    ),
    _page(
        "moments are not shortened to their bounds",
        "features",
        "    if (kept < 1) for",
        "    if (kept < 0) for",
        "moments",
    ),
    _page(
        "vectors of two people are taken to lie on one side",
        "features",
        "gram ** 2 + 4 * vector ** 2",
        "gram ** 2 + vector ** 2",
        "millionth",
    ),
    Mutant(
        "rounding of moments with shares of noise is not charged",
        "protocol/trusts/shuffle.py",
        "size = request.promise, question.price(grid or 0.0)",
        "size = request.promise, question.price()",
        ("tests/protocol/kinds/test_moments.py::test_shares_charge_for_rounding",),
        unseen="Rounding is a tenth of the sensitivity, which so many samples hardly tell.",
    ),
    _planted(
        "the witness is not asked for the round that a ticket names",
        "service/device/following.py",
        "    _compare(signed, witness, contract)\n    return followed(transport, contract, signed)\n",
        "    return followed(transport, contract, signed)\n",
        "test_witness.py::test_a_ticket_leads_nobody_to_a_policy_of_their_own",
    ),
    _planted(
        "the witness is asked by nobody who takes a ticket",
        "service/device/admitting.py",
        "following.numbered(device.transport, device.contract, ticket.round, memory, device.witness)",
        "following.numbered(device.transport, device.contract, ticket.round, memory)",
        "test_witness.py::test_a_ticket_leads_nobody_to_a_policy_of_their_own",
    ),
    _planted(
        "a head that the witness knows otherwise is still followed if it was fetched before",
        "service/device/device.py",
        "            self._forget(error)\n",
        "",
        "test_witness.py::test_a_round_that_is_held_is_compared_again",
    ),
    _planted(
        "a witness that does not know a round has consented",
        "service/device/following.py",
        "        raise Unwitnessed(signed)\n",
        "        return None\n",
        "test_witness.py::test_a_witness_that_does_not_know_a_round_has_not_consented",
        "test_witness.py::test_a_witness_that_knows_nothing_has_not_consented",
        "test_witness.py::test_a_ticket_leads_nobody_to_a_round_that_the_witness_does_not_know",
    ),
    _planted(
        "a round that was followed without the witness is held although the witness does not know it",
        "service/device/device.py",
        '            if (head := memory.get("head")) and head["digest"] == error.digest:\n',
        '            if len(error.pair) > 1 and (head := memory.get("head")) and head["digest"] == error.digest:\n',
        "test_witness.py::test_a_round_followed_while_the_witness_was_silent_is_dropped_if_it_knows_nothing_of_it",
    ),
    _planted(
        "any 404 is final",
        "service/contract/answers.py",
        "    document = document_of(body)\n    if status in (200, 201):\n",
        "    document = document_of(body)\n    if status == 404:\n        return REFUSED\n    if status in (200, 201):\n",
        "test_answers.py::test_a_proxys_answer_does_not_cost_the_one_report",
    ),
    _planted(
        "any 200 is an acknowledgement",
        "service/contract/answers.py",
        'return COUNTED if document.get("outcome") in OUTCOMES else UNKNOWN',
        "return COUNTED",
        "test_answers.py::test_a_proxys_answer_does_not_cost_the_one_report",
    ),
    _planted(
        "a refusal about another contract is final",
        "service/contract/answers.py",
        "    return REFUSED if (named != contract) == other else UNKNOWN\n",
        "    return REFUSED\n",
        "test_answers.py::test_what_the_service_did_not_say_is_tried_again",
    ),
    _planted(
        "a drip resets the deadline",
        "service/device/transport.py",
        "        self.join(left)\n",
        "        self.join()\n",
        "test_time.py::test_joining_a_service_that_drips_ends_in_time",
    ),
    _planted(
        "every request of a call has the whole time for itself",
        "service/device/transport.py",
        "        until = min(_deadline.get(), time.monotonic() + self.timeout)\n",
        "        until = time.monotonic() + self.timeout\n",
        "test_time.py::test_several_requests_share_one_deadline",
    ),
    _planted(
        "the socket of a request that was given up stays open",
        "service/device/transport.py",
        "                    self._socket.shutdown(2)  # both ways: the reader is woken\n",
        "                    pass\n",
        "test_time.py::test_requests_that_were_given_up_end",
    ),
    _planted(
        "what was spent is known by the operator's name alone",
        "service/device/store.py",
        'for part in ("operator", "key", "url"))',
        'for part in ("operator",))',
        "test_spent.py::test_an_operator_stays_who_it_is_by_any_of_name_key_and_address",
    ),
    _planted(
        "what was spent is known by the key alone",
        "service/device/store.py",
        'for part in ("operator", "key", "url"))',
        'for part in ("key",))',
        "test_spent.py::test_an_operator_stays_who_it_is_by_any_of_name_key_and_address",
    ),
    _planted(
        "what was spent is known by the address alone",
        "service/device/store.py",
        'for part in ("operator", "key", "url"))',
        'for part in ("url",))',
        "test_spent.py::test_an_operator_stays_who_it_is_by_any_of_name_key_and_address",
    ),
    _planted(
        "a successor with a larger delta is accepted",
        "service/contract/contract.py",
        '    for name in ("epsilon", "delta", "rho", "honest"):\n        now',
        '    for name in ("epsilon", "rho", "honest"):\n        now',
        "test_spent.py::test_a_successor_that_promises_less_is_not_joined",
    ),
    _planted(
        "a device sends at once, whatever the window",
        "service/device/device.py",
        'due = opened["due"] if contract.window else 0.0',
        "due = 0.0",
        "test_time.py::test_a_report_is_sent_at_the_time_that_was_drawn_before_the_episode",
    ),
    _planted(
        "the send time is drawn after the episode",
        "service/device/device.py",
        'due = opened["due"] if contract.window else 0.0',
        "due = self._clock() + sending.delay(contract.window)",
        "test_time.py::test_a_report_is_sent_at_the_time_that_was_drawn_before_the_episode",
    ),
    _planted(
        "a time that a wrong clock drew stays",
        "service/device/sending.py",
        '        letter["due"], moved = now + delay(window), True\n',
        "        pass\n",
        "test_time.py::test_a_clock_that_was_ahead_delays_a_report_by_one_window_at_most",
    ),
    _planted(
        "an episode of another process is replaced by an empty one",
        "service/device/device.py",
        'else not self.store.is_held(opened["token"])',
        "else True",
        "test_time.py::test_an_episode_that_goes_on_in_another_process_is_not_replaced_by_an_empty_one",
    ),
    _planted(
        "a report is drawn by another token",
        "service/device/device.py",
        'if opened is None or opened["token"] != token:',
        "if opened is None:",
        "test_spent.py::test_only_the_episode_that_spent_the_report_draws_it",
    ),
    _planted(
        "a report has an id of its own at every draw",
        "service/device/messages.py",
        'number = bytes.fromhex(opened["token"])',
        'number = __import__("os").urandom(16)',
        "test_spent.py::test_only_the_episode_that_spent_the_report_draws_it",
    ),
    _planted(
        "a report can be drawn again",
        "service/device/device.py",
        '            memory["open"] = None\n            waiting: WaitingReport =',
        "            waiting: WaitingReport =",
        "test_spent.py::test_only_the_episode_that_spent_the_report_draws_it",
    ),
    _page(
        "a blank localStorage takes over",
        "storage",
        "  if (!database || (page && !local)) return { ...(database ?? memoryStorage()), whole: false };\n",
        "  if (!database || (page && !local)) return database ?? blank(local);\n"
        "  function blank(local) {\n"
        "    return { get: (key) => local.getItem(key), set: (key, text) => local.setItem(key, text) };\n"
        "  }\n",
        "store",
        "unspent",
    ),
    _page(
        "what was spent is not read from localStorage",
        "storage",
        "      const more = lacking(spent, spentOf(local.getItem(key)));\n",
        "      const more = [];\n",
        "emptied",
    ),
    _page(
        "what was spent is not written to localStorage",
        "storage",
        "      if (more.length) local.setItem(",
        "      if (0) local.setItem(",
        "before",
    ),
    _page(
        "a report is sent though a store cannot be read",
        "device",
        "    if (this.#storage.whole === false) {\n",
        "    if (false) {\n",
        "store",
    ),
    _page(
        "a time that a wrong clock drew stays",
        "device",
        "waiting.due = now() + this.#delay();\n    return waiting;",
        "return waiting;\n    return waiting;",
        "ahead",
    ),
    _page(
        "times are the machine's, which is put right",
        "device",
        "const now = () => performance.timeOrigin + performance.now();",
        "const now = () => Date.now();",
        "drawn",
    ),
    _page(
        "the send time is drawn after the episode",
        "device",
        "      memory.letter = { due, batch,",
        "      memory.letter = { due: now() + this.#delay(), batch,",
        "drawn",
    ),
    _page(
        "a device sends at once, whatever the window",
        "device",
        "      memory.letter = { due, batch,",
        "      memory.letter = { due: 0, batch,",
        "drawn",
    ),
    _page(
        "an episode of another tab is replaced by an empty one",
        "device",
        "    if (!windowed) later(LOST / 4, beat);\n",
        "",
        "tab",
    ),
    _page(
        "any 404 is final",
        "wire",
        "  const reason = /^urn",
        '  if (status === 404) return "dropped";\n  const reason = /^urn',
        "proxy",
    ),
    _page(
        "any 200 is an acknowledgement",
        "wire",
        " && OUTCOMES.includes(told.outcome)) return",
        ") return",
        "proxy",
    ),
    _page(
        "a body that drips has all the time",
        "wire",
        "    return Promise.race([work(), late]);\n",
        "    return work();\n",
        "drip",
    ),
    _page(
        "the witness is not asked for the round that a ticket names",
        "device",
        "      this.#same(known, found);\n      await this.#load",
        "      await this.#load",
        "witness",
    ),
    _page(
        "a successor may assume more honest people",
        "contract",
        '["epsilon", "delta", "rho", "honest"].some(less)',
        '["epsilon", "delta", "rho"].some(less)',
        "successors",
    ),
    _page(
        "a witness that does not know a round has consented",
        "device",
        "includes(status) ? null : false",
        "includes(status) ? null : null",
        "unknown",
        "unticketed",
    ),
    _page(
        "what was spent is known by the operator's name alone",
        "device",
        "one.some((part, at) => part === mark[at])",
        "one[0] === mark[0]",
        "operators",
    ),
)
