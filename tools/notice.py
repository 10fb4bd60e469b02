"""Writes NOTICE: the licences of what confide depends on, from the metadata of installed packages: `python -m tools.notice`.

Development tools are not listed.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
NOTICE = ROOT / "NOTICE"
HEAD = """confide
Copyright the confide founders. Licensed under the Apache License, Version 2.0 (see LICENSE).

The packages below are installed beside confide, each under its own licence, as its metadata states it. None of them is part of
confide's own files. `python -m tools.notice` writes this file.

"""


def direct() -> dict[str, list[str]]:
    """The project's own requirements by extra; "" are those of the base."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def closure(requirements: list[str]) -> dict[str, Distribution]:
    """Installed packages that the requirements lead to on this machine, by name. What is not installed is left out."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        wanted, extra = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for each in {"", *wanted.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, each))
            waiting += [(Requirement(text), each) for text in found[name].requires or ()]
    return dict(sorted(found.items()))


def licence(package: Distribution) -> str:
    """What a package's metadata states: an SPDX expression, else its classifiers, else the first line of free text."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    named = [
        text.rpartition(" :: ")[2]
        for text in metadata.get_all("Classifier") or ()
        if text.startswith("License ::") and text != "License :: OSI Approved"
    ]
    return "; ".join(named) or next(iter(str(metadata.get("License") or "").strip().splitlines()), "not stated")


def line(name: str, package: Distribution) -> str:
    """One package: its name, its licence and, where it gives one, its page."""
    pages = dict(text.split(", ", 1) for text in package.metadata.get_all("Project-URL") or ())
    kinds = {re.sub(r"\W", "", key).lower(): address for key, address in pages.items()}
    page = package.metadata.get("Home-page") or next(
        (kinds[kind] for kind in ("homepage", "source", "sourcecode", "repository", "documentation") if kind in kinds),
        "",
    )
    return f"{name}: {licence(package)}" + (f" ({page})" if page and page != "UNKNOWN" else "")


def text() -> str:
    """The whole file."""
    packages = closure([requirement for texts in direct().values() for requirement in texts])
    return HEAD + "".join(f"{line(name, package)}\n" for name, package in packages.items())


if __name__ == "__main__":
    NOTICE.write_text(text(), encoding="utf-8")
    print(NOTICE)
