"""What tests expect of a refusal: its code, not its words."""

from __future__ import annotations

import re
from types import TracebackType

import pytest

from confide.errors import ConfideError


class refused:
    """A block that is refused with this code; after a colon, what the refusal is about: `refused("not-positive: epsilon")`.

    match: a value or a name that the sentence must hold, not its words. value: the error, afterwards.
    """

    def __init__(self, expected: str, match: str = "") -> None:
        self.expected, self.match = expected, match
        self.value: ConfideError = ConfideError("", "")

    def __enter__(self) -> refused:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is None:
            pytest.fail(f"nothing was refused; {self.expected} was expected")
        if not isinstance(error, ConfideError):
            return False
        self.value = error
        found = f"{error.code}: {error.about}" if ":" in self.expected else error.code
        assert found == self.expected, f"refused with {error.code}: {error}"
        assert re.search(self.match, str(error)), f"{self.match!r} is not in: {error}"
        return True
