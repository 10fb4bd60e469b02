"""Who has a token: names under a key, and what was signed for them, in no order and without a time.

What was signed is blinded: it is independent of the token that came of it. It is kept so that a device whose answer was lost may
ask again, with the same bytes only.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac

from sqlalchemy import Column, LargeBinary, MetaData, Table, insert, select
from sqlalchemy.exc import IntegrityError

from ..contract.tickets import derived
from ..http import databases

TABLES = MetaData()
issued = Table(
    "issued",
    TABLES,
    Column("person", LargeBinary(32), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
"""person: a MAC of contract and name. request: the SHA-256 of the blinded bytes that were signed. Rows lie in the order of
the MACs."""


class IssuedStore:
    """The database of one issuer."""

    def __init__(self, url: str, secret: bytes) -> None:
        self._engine = databases.connect(url)
        self._writer = self._engine.execution_options(writes=True)
        self._key = derived(secret, b"issued/1")

    def prepare(self) -> None:
        """Make the table where there is none."""
        TABLES.create_all(self._engine)

    def grant(self, contract: bytes, name: str, blinded: bytes) -> bool:
        """Whether this person may have these bytes signed: the first, or the same again. True is on disk when this returns."""
        person = hmac.digest(self._key, contract + name.encode(), "sha256")
        request = hashlib.sha256(blinded).digest()
        with contextlib.suppress(IntegrityError), self._writer.begin() as connection:
            found = connection.execute(select(issued.c.request).where(issued.c.person == person)).scalar()
            if found is None:
                connection.execute(insert(issued).values(person=person, request=request))
                return True
            return hmac.compare_digest(bytes(found), request)
        return self.grant(contract, name, blinded)  # another process was first

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()
