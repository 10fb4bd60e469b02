"""How a device gets its one token: blinded bytes go to the issuer with a credential, and what comes back is unblinded here."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit

from ...errors import FormatError, PrivacyError
from ..contract.answers import document_of
from ..contract.contract import Contract
from ..contract.encoding import from_base64, to_base64
from ..contract.tokens import REQUEST_TYPE, TokenRequest
from .chain import fetched
from .transport import LOOPBACK, Transport, Unreachable

Credential = str | Callable[[], str]
"""What a person shows the issuer, or a function that says it when it is needed."""


class TokenClient:
    """Requests of a device to the issuer that its contract names."""

    def __init__(
        self,
        transport: Transport,
        contract: Contract,
        credential: Credential | None,
        address: str | None = None,
        slot: int = 0,
    ) -> None:
        """transport: to the collector. address: of the issuer, where the application knows it and the contract does not say. slot:
        which the token is for, where a person may take part several times."""
        self._collector, self._contract, self._slot = transport, contract, slot
        self._credential, self._address = credential, address
        self._line: Transport | None = None

    def _reached(self) -> Transport:
        """The transport to it. What the collector says is believed on this machine only: it must not learn who asks."""
        issuer = self._contract.issuer
        assert issuer is not None
        if self._line is None:
            address = issuer.address or self._address
            if address is None:
                shown = document_of(fetched(self._collector, "/v1/issuer")).get("address")
                if urlsplit(str(shown)).hostname not in LOOPBACK:
                    raise PrivacyError(
                        "issuer-address-unknown",
                        "The contract does not say where its issuer is. Give its address: issuer=.",
                    )
                address = str(shown)
            self._line = self._collector.beside(address)
        return self._line

    def close(self) -> None:
        """Close the connection, if it was kept open."""
        if self._line is not None:
            self._line.close()

    def token(self, request: TokenRequest) -> bytes:
        """The token of a request; the same request may be made again."""
        checker = self._contract.checker(self._slot)
        assert checker is not None
        if self._credential is None:
            raise PrivacyError(
                "credential-missing",
                "The service takes one token a person, and no credential was given. Join with credential=.",
            )
        shown = self._credential() if callable(self._credential) else self._credential
        told = {
            "contract": self._contract.digest.hex(),
            "credential": shown,
            "blinded": to_base64(request.blinded(checker)),
            **({} if self._contract.slots is None else {"slot": self._slot}),
        }
        answer = self._reached().post("/v1/tokens", json.dumps(told).encode(), REQUEST_TYPE)
        if answer.status != 201:
            self._line = None
            detail = document_of(answer.body).get("detail") if answer.status in (403, 409) else None
            if isinstance(detail, str):
                raise PrivacyError("token-refused", f"The issuer refuses: {detail[:200]}")
            raise Unreachable("issuer-unreachable", f"The issuer gave no token ({answer.status}).")
        try:
            signed = from_base64(document_of(answer.body).get("answer"))
        except ValueError as error:
            raise FormatError("issuer-response-form", "The issuer's response is no signature.") from error
        return request.token(checker, signed)
