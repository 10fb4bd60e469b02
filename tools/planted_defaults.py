"""Mutants of the choices that simulations and services share, and of the law of asked pairs that rounds carry."""

from __future__ import annotations

from .planted import Mutant

DEFAULTS, ASKED, REHEARSED = (
    "tests/protocol/test_defaults.py",
    "tests/service/collector/test_asked.py",
    "tests/lab/staging/test_rehearsing.py",
)

UNSEEN = "it changes what is learned, and nothing that is told of a person"

MUTANTS = (
    Mutant(
        "a device draws its pair by another law than its round carries",
        "service/device/messages.py",
        "    question = asked_by(design.question, None if question_bytes is None else from_base64(question_bytes))\n",
        "    question = asked_by(design.question, None)\n",
        (f"{ASKED}::test_a_device_draws_its_pair_by_the_law_of_its_round",),
        unseen=UNSEEN,
    ),
    Mutant(
        "a device takes a law that was not signed",
        "service/device/following.py",
        "    if raw is not None and hashlib.sha256(raw).hexdigest() != head.question:\n",
        "    if raw is not None and not head.question:\n",
        (f"{ASKED}::test_a_law_that_was_not_signed_is_refused",),
        unseen="every law is as private as any other: what is not signed is what people are shown",
    ),
    Mutant(
        "a law may have negative weights",
        "protocol/kinds/asked.py",
        "        or (law < 0).any()\n",
        "",
        (f"{ASKED}::test_a_hostile_law_is_refused_by_devices",),
        unseen="a pair that is drawn by no law is refused later, by whoever draws it",
    ),
    Mutant(
        "a service asks by one law, whatever its policy is",
        "service/collector/adapters.py",
        "self._family.member_for(self._learner.ask(state)).law_bytes()",
        "self._family.law_bytes()",
        (f"{ASKED}::test_a_round_of_asked_pairs_is_learned_from",),
        unseen=UNSEEN,
    ),
    Mutant(
        "a service assumes that everybody is honest",
        "service/collector/founding.py",
        '"honest": self.honest}',
        '"honest": self.honest or 1.0}',
        (f"{DEFAULTS}::test_a_service_deploys_what_a_simulation_shows",),
        unseen="Who is honest is an assumption: no output of honest people tells how many there are.",
    ),
    Mutant(
        "a service has a schedule of its own",
        "service/collector/founding.py",
        "            schedule=self.schedule,\n            shuffling",
        "            schedule=self.schedule or Schedule.batches(users, 20),\n            shuffling",
        (f"{DEFAULTS}::test_a_service_deploys_what_a_simulation_shows",),
        unseen=UNSEEN,
    ),
    Mutant(
        "later batches of a shuffler have the tickets of the first",
        "service/contract/contract.py",
        "            return self.intermediary.tickets << self.level(batch)\n",
        "            return self.intermediary.tickets\n",
        (f"{DEFAULTS}::test_tickets_of_a_widening_shuffler_follow_the_size_of_the_batch",),
        unseen="a batch with too few tickets waits, and nothing of it is given out",
    ),
    Mutant(
        "a batch that is to be larger is closed with as few people as the first",
        "protocol/releases/shuffler.py",
        "return self.mixing.batch << batch.level",
        "return self.mixing.batch",
        ("tests/service/intermediary/test_widening.py",),
        unseen="the attack fills every batch before it asks for its sum",
    ),
)
