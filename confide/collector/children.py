"""The curator of a joint contract as a child process, where nobody else runs one. The collector never loads what it loads."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from ..contracts.contract import Contract
from ..contracts.intermediary import CURATOR
from ..errors import InvalidInput

SAYS = "confide: curate serves "
ENDING = 5.0


def needs_curator(contract: Contract) -> bool:
    """Whether a contract has a curator, and does not say where."""
    about = contract.intermediary
    return about is not None and about.role == CURATOR and about.address is None


class Curator:
    """One `confide curate`, which ends when its parent does: then its input ends."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        package = __name__.split(".")[0]
        self._command = [sys.executable, "-P", "-m", package, "curate", str(folder), "--port", "0", "--child"]
        if database is not None:
            self._command += ["--database", database]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it; its address. What it logs goes on to stderr."""
        self._process = process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.buffer.write(line)
            text = line.decode(errors="replace")
            if text.startswith(SAYS):
                threading.Thread(target=self._pass_on, daemon=True).start()
                return text.rsplit(" ", 1)[1].strip()
        raise InvalidInput("The curator did not start; what it said stands above.")

    def _pass_on(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        for line in self._process.stderr:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()

    def stop(self) -> None:
        """Ask it to end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
