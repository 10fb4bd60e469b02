"""The tutorials, played: every block of a page is run in order, and what the page shows is what came out.

`python -m tools.tutorials` plays all pages, and writes anew what they show.

- A block of `python` runs in one interpreter for the whole page; if its first line is a comment that names a file, it
  becomes that file instead.
- A block of `toml` whose first line is a comment that names a file becomes that file.
- A block of `sh` holds commands, one a line: `confide ...`, `pytest ...` or `python FILE`.
- A block of `text` right after either shows what it printed. Of a command that is refused it shows the message as well, and
  a refusal that is not shown ends the play.
- Days and digests, which are others every time, are shown as those of one day.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "service" / "web.md"]
"""The tutorials, one for each kind of user, and the page for web developers."""

BLOCK = re.compile(r"^```(python|sh|toml)\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", flags=re.DOTALL | re.MULTILINE)
DAY, DIGEST = re.compile(r"\b20\d\d-\d\d-\d\d\b"), re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12}$", flags=re.MULTILINE)
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")


def _confide(arguments: list[str]) -> int:
    from confide.cli import run

    return run(arguments)


def _pytest(arguments: list[str]) -> int:
    import pytest

    return pytest.main(arguments)


# Commands that need no process of their own: starting one takes longer than most of them do.
HERE = {"confide": _confide, "pytest": _pytest}


class CommandFailed(Exception):
    """A command failed; it says what was printed."""


def played(page: Path) -> str:
    """The page with all it shows replaced by what comes out, in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(page)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise CommandFailed(f"{page.name} cannot be played:\n{result.stderr}")
    return result.stdout


def play(text: str) -> str:
    """The same, here."""
    names: dict[str, Any] = {"__name__": "tutorial"}

    def block(match: re.Match[str]) -> str:
        language, code, shown = match.groups()
        try:
            printed = run_commands(code) if language == "sh" else run_python(code, names)
        except CommandFailed as refusal:
            if shown is None:
                raise
            printed = str(refusal)
        if shown is None:
            return match[0]
        printed = DIGEST.sub("0123456789ab", DAY.sub("2026-01-31", printed))
        lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        return f"```{language}\n{code}```\n\n```text\n{lines}```\n"

    return BLOCK.sub(block, text)


def run_python(code: str, names: dict[str, Any]) -> str:
    """What the code prints. If it belongs in a file it is written there, and nothing is printed."""
    if named := FILE.match(code):
        Path(named[1]).write_text(code, encoding="utf-8")
        return ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "tutorial", "exec"), names)
    return printed.getvalue()


def run_commands(code: str) -> str:
    """What the commands print to stdout."""
    lines = code.replace("\\\n", " ").splitlines()
    return "".join(
        run_command(arguments) for arguments in (shlex.split(line, comments=True) for line in lines) if arguments
    )


def run_command(command_words: list[str]) -> str:
    """What one command prints to stdout; with exit code 0, or it is refused."""
    program, *arguments = command_words
    if program == "python":
        result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        code, out, err = result.returncode, result.stdout, result.stderr
    elif program in HERE:
        with contextlib.redirect_stdout(io.StringIO()) as stdout, contextlib.redirect_stderr(io.StringIO()) as stderr:
            code = HERE[program](arguments)
        out, err = stdout.getvalue(), stderr.getvalue()
    else:
        raise CommandFailed(f"{program!r} is not run here, only python, {', '.join(HERE)}.")
    if code:
        raise CommandFailed(out + err)
    return out


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.path[0] = ""  # the folder we stand in, as for a reader who types the page
        sys.stdout.write(play(Path(sys.argv[1]).read_text(encoding="utf-8")))
    else:
        for page in PAGES:
            page.write_text(played(page), encoding="utf-8")
