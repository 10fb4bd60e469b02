"""The curator of a joint contract, and the issuer of tokens, as child processes, where no other operator runs them. The collector
never loads what they load, nor holds their keys."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ...errors import ConfideError, InvalidInput
from ..contract.contract import Contract
from ..contract.folder import Folder
from ..contract.intermediary import CURATOR
from ..http.serving import announced_url

DATABASE = "CONFIDE_DATABASE"
"""The environment variable with the address of a database."""
ENDING, PAUSE = 5.0, 1.0
"""Seconds that it has to end, and until it is started again."""


def needs_curator(contract: Contract) -> bool:
    """Whether a contract has a curator, and does not give its address."""
    about = contract.intermediary
    return about is not None and about.role == CURATOR and about.address is None


def needs_issuer(folder: Folder) -> bool:
    """Whether a contract names an issuer and not its address, and the issuer that was made beside the folder is still there."""
    issuer = folder.contract().issuer
    return issuer is not None and issuer.address is None and folder.issuer_path.is_dir()


class ChildProcess:
    """One `confide curate` or `confide issue`, started again when it dies, which ends when its parent does: then its input ends."""

    def __init__(self, verb: str, folder: Path, database: str | None = None, *options: str) -> None:
        package, self._verb = __name__.split(".")[0], verb
        self._command = [sys.executable, "-P", "-m", package, verb, str(folder), "--child", *options]
        # A database's address may hold a password, which the list of processes would show.
        self._environment = {name: value for name, value in os.environ.items() if name != DATABASE}
        if database is not None:
            self._environment[DATABASE] = database
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self.refused: Callable[[], None] = lambda: None
        """Called when it ended by itself, with a sentence: starting it again would not help."""

    def start(self) -> str:
        """Start the process and return its address, which it keeps. What it logs goes on to stderr."""
        address = self._started("0")
        threading.Thread(target=self._watch, args=(address.rsplit(":", 1)[1],), daemon=True).start()
        return address

    def _started(self, port: str) -> str:
        command = [*self._command, "--port", port]
        self._process = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=self._environment
        )
        assert process.stderr is not None
        for line in process.stderr:
            _pass_on(line)
            text = line.decode(errors="replace")
            address = announced_url(text)
            if address is not None:
                return address
        raise InvalidInput("child-not-started", f"confide {self._verb} did not start; what it said stands above.")

    def _watch(self, port: str) -> None:
        """Pass on what it logs until it ends, and start it again under the same address."""
        while True:
            assert self._process is not None and self._process.stderr is not None
            for line in self._process.stderr:
                _pass_on(line)
            refused = self._process.wait() == ConfideError.exit_code
            if self._stopped.wait(PAUSE):
                return
            if refused:
                self.refused()
                return
            with contextlib.suppress(InvalidInput):
                self._started(port)

    def stop(self) -> None:
        """Ask the process to end, and kill it if it does not."""
        self._stopped.set()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _pass_on(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
