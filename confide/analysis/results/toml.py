"""Plain values as TOML: the standard library reads it and does not write it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...validation import Json


def as_toml(sections: Mapping[str, Mapping[str, Json]], above: str = "") -> str:
    """The text of a TOML file with these sections."""
    lines = [above] if above else []
    for section, entries in sections.items():
        if entries:
            lines.append(f"[{section}]")
            lines += [f"{key} = {literal(value)}" for key, value in entries.items()]
            lines.append("")
    return "\n".join(lines)


def literal(value: Json) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)
