"""Mutants of tokens: each lets somebody take part twice, or with another's token, or with none."""

from __future__ import annotations

from .planted import Mutant

COLLECTED, TICKETS = "tests/service/collector/test_tokens.py", "tests/service/intermediary/test_ticket_tokens.py"
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
        "if len(token) != TOKEN_BYTES or not self.key.verifies(self.signed(nonce), token[NONCE_BYTES:]):",
        "if len(token) != TOKEN_BYTES:",
        (f"{COLLECTED}::test_without_a_token_nothing_is_counted",),
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
)
