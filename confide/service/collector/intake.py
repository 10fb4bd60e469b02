"""Checks letters before anything is counted."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import FormatError
from ...protocol.releases.sums import Pile
from ..contract.contract import Contract
from ..contract.letters import ID_BYTES, Letter, letter_length
from ..contract.tokens import TOKEN_BYTES
from ..http.problems import Refused
from .store import Arrival


class Intake:
    """Reads and checks letters of one contract."""

    def __init__(self, contract: Contract, question_digests: Mapping[int, bytes]) -> None:
        """question_digests: the fingerprint of each round's question, where that changes from round to round."""
        self._digest, self._question_digests = contract.digest, question_digests
        self._pile = Pile(contract.design)
        self._tokens = contract.tokens
        self.longest = letter_length(contract.design) + (0 if self._tokens is None else TOKEN_BYTES)

    def read(self, body: bytes, current: int) -> Arrival:
        """Accept a letter, whose sender followed a round up to the current one; or refuse it. Its token is checked when it is
        counted."""
        body, token = (body, b"") if self._tokens is None else (body[:-TOKEN_BYTES], body[-TOKEN_BYTES:])
        try:
            letter = Letter.from_bytes(body)
        except FormatError as error:
            raise Refused("garbage", error.code, str(error)) from error
        if letter.contract != self._digest:
            raise Refused(
                "contract", "report-of-other-contract", "This submission was made under another contract. Drop it."
            )
        if not 1 <= letter.round <= current:
            raise Refused(
                "round", "round-not-open", f"Rounds 1 to {current} were opened so far. This submission names another."
            )
        try:
            report = self._pile.check(letter.report, self._question_digests.get(letter.round))
        except FormatError as error:
            raise Refused("report", error.code, str(error).rstrip(".") + ".") from error
        if self._tokens is not None and token[:ID_BYTES] != letter.id:
            raise Refused(
                "admission",
                "token-of-other-letter",
                "The submission's id is not that of its token. Take the id from the token.",
            )
        return Arrival(letter.id, report, letter.round, token)
