"""Who is who: the interface that an application plugs its own login into, and two ways to begin with.

A credential is what a person shows: a session of the application's own, an invitation, a signed assertion. An issuer needs one
thing of it: that the same person always has the same name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ...errors import FormatError, InvalidInput
from ..contract import keys

ASSERTION = b"confide.assertion/1\n"
"""The prefix of what an application signs about a person."""
GUEST = "guest-"
"""How the name of a guest begins, which no application's own does."""
LASTS = 3600.0
"""Seconds for which an assertion holds, by default."""


class Login(Protocol):
    """What an application plugs in: two methods."""

    def person(self, credential: str) -> str | None:
        """The name of the person who shows this credential, the same every time; None if it is no user's."""
        ...

    def admitted(self, person: str) -> bool:
        """Whether this person may take part."""
        ...


class ListedNames:
    """A list of names, or of invitations: who shows one of them is that person. What is not guessed belongs on it."""

    def __init__(self, names: list[str]) -> None:
        self._known = {hashlib.sha256(name.encode()).digest() for name in names}

    @classmethod
    def read(cls, path: Path) -> ListedNames:
        """One a line; empty lines and those that begin with # are left out."""
        lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
        names = [line for line in lines if line and not line.startswith("#")]
        if not names or len(set(names)) != len(names):
            raise InvalidInput(
                "names-not-different", f"{path} must list different names, one a line. Write them into it."
            )
        return cls(names)

    def person(self, credential: str) -> str | None:
        """The name itself, if it is on the list."""
        shown = hashlib.sha256(credential.encode()).digest()
        return credential if any(hmac.compare_digest(shown, one) for one in self._known & {shown}) else None

    def admitted(self, person: str) -> bool:
        """Users on the list."""
        return True


class SignedAssertions:
    """Assertions that the application signs for users who are logged in: `assertion` makes one."""

    def __init__(self, public: bytes, clock: Callable[[], float] = time.time) -> None:
        self._public, self._clock = public, clock

    def person(self, credential: str) -> str | None:
        """The name in an assertion that is signed and not over."""
        try:
            written, until, signature = credential.split(".")
            name = base64.urlsafe_b64decode(written.encode("ascii")).decode()
            keys.verify(self._public, ASSERTION, f"{name}\n{until}".encode(), base64.urlsafe_b64decode(signature))
            return name if name and self._clock() < float(int(until)) else None
        except (ValueError, binascii.Error, FormatError):
            return None

    def admitted(self, person: str) -> bool:
        """Whomever the application signs for."""
        return True


class Guests:
    """A client that says `guest-...` is that guest: one client may be any number of people. For trying a service out, never for one
    that counts."""

    def __init__(self, others: Login) -> None:
        """others: who is not a guest."""
        self._others = others

    def person(self, credential: str) -> str | None:
        """The guest's name, or what the others say."""
        return credential if credential.startswith(GUEST) else self._others.person(credential)

    def admitted(self, person: str) -> bool:
        """Every guest, and whom the others admit."""
        return person.startswith(GUEST) or self._others.admitted(person)


def assertion(private: bytes, name: str, until: float | None = None) -> str:
    """What an application signs about a person who is logged in. until: seconds since 1970, an hour from now by default."""
    ends = int(time.time() + LASTS if until is None else until)
    signature = keys.sign(private, ASSERTION, f"{name}\n{ends}".encode())
    return ".".join((_text(name.encode()), str(ends), _text(signature)))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
