"""From a log and a study to an answer: the commands an analyst gives, one after the other. The other examples call it."""

from __future__ import annotations

from pathlib import Path

from confide.cli import run


def answer(folder: Path, study: str, compared: tuple[str, ...] = ("practice", "learned")) -> None:
    """Write the study, and run: check, fit, explain, compare. Each command is printed before what it says."""
    (folder / "study.toml").write_text(study, encoding="utf-8")
    place = str(folder / "study.toml")
    for words in (["check"], ["fit"], ["explain"], ["compare"]):
        more = ["--policies", *compared] if words == ["compare"] else []
        print(f"\n$ confide {words[0]} study.toml {' '.join(more)}".rstrip(), flush=True)
        code = run([*words, place, *more])
        if code:
            raise SystemExit(code)
