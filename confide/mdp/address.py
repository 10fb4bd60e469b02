"""Addresses, read and written: of worlds (`riverswim/6`, `random/2x2?seed=7`) and of learners (`ucbvi?bonus=bernstein`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .. import validation
from ..validation import Json

_FORM = re.compile(r"(?P<name>[^/:?]+)(?P<mark>[/:]?)(?P<rest>(?<=[/:])[^?]*)?(?:\?(?P<options>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """A name; sizes after a slash, or a further name after a colon; options after a question mark."""

    name: str
    mark: str
    rest: str
    options: dict[str, Json]

    @classmethod
    def read(cls, text: str) -> Address:
        """Take an address apart."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise validation.refusal(
                "address-form", "address", "a name and perhaps sizes", text, "Write 'riverswim/6', for example."
            )
        name, mark, rest, query = match.groups()
        pairs = [pair.partition("=") for pair in query.split("&")] if query is not None else []
        if not all(option and equals and value for option, equals, value in pairs):
            raise validation.refusal(
                "address-options-form", "options in an address", "of the form name=value&name=value", text
            )
        return cls(name, mark, rest or "", {option: read_value(value) for option, _, value in pairs})

    def __str__(self) -> str:
        """The address put together again."""
        query = "&".join(f"{name}={write_value(value)}" for name, value in self.options.items())
        return f"{self.name}{self.mark}{self.rest}" + (f"?{query}" if query else "")


def read_value(text: str) -> Json:
    """A truth value, a whole number, a number, several of them after commas, or else the text itself."""
    if "," in text:
        return tuple(read_value(item) for item in text.split(","))
    return read_word(text)


def read_word(text: str) -> bool | int | float | str:
    """A truth value, a whole number, a number, or else the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_value(value: Json) -> str:
    """The inverse of `read_value`."""
    if isinstance(value, tuple | list):
        return ",".join(write_value(item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)
