"""Contracts of shufflers and curators whose users come again, with an issuer of slots and without."""

from __future__ import annotations

from pathlib import Path

from confide.service.contract import Contract, Intermediary, keys
from confide.service.contract.intermediary import ROLES
from confide.service.contract.tokens import TokenIssuer
from confide.service.issuer.folder import IssuerKeys
from tests.service.contract.example import contract
from tests.service.contract.test_slots import returning
from tests.service.issuer.issuers import LOGIN

from .offices import BETWEEN, DEADLINE, PATIENCE, PUBLICATION, WINDOW

PEM = Path(__file__).parents[1] / "issuer" / "slots.pem"
KEYS = IssuerKeys(PEM.read_bytes(), LOGIN, keys.public_key(LOGIN))
"""Of three slots, for tests only: everyone may read them."""


def admitting(trust: str, times: int, apart: int, issuer: IssuerKeys | None = None) -> Contract:
    design = returning(trust, times, apart)
    about = Intermediary(
        ROLES[trust],
        "Between Ltd",
        keys.public_key(BETWEEN),
        deadline=DEADLINE,
        publication=PUBLICATION,
        patience=PATIENCE,
    )
    entry = None if issuer is None else TokenIssuer("Doors Ltd", issuer.publics[0], None, issuer.publics[1:])
    return contract(design, window=WINDOW, intermediary=about, issuer=entry)
