"""From a log and a fit file to an answer: the commands an analyst gives, one after the other. The other examples call it."""

from __future__ import annotations

from pathlib import Path

from confide.cli import run


def answer(folder: Path, fit_file: str, compared: tuple[str, ...] = ("practice", "learned")) -> None:
    """Write the fit file, and run: check, fit, explain, compare. Each command is printed before what it says."""
    (folder / "fit.toml").write_text(fit_file, encoding="utf-8")
    place = str(folder / "fit.toml")
    for words in (["check"], ["fit"], ["explain"], ["compare"]):
        more = ["--policies", *compared] if words == ["compare"] else []
        print(f"\n$ confide {words[0]} fit.toml {' '.join(more)}".rstrip(), flush=True)
        code = run([*words, place, *more])
        if code:
            raise SystemExit(code)
