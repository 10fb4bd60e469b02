"""Collectors, shufflers and curators as processes of their own, started and ended by the rehearsal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ...errors import ConfideError
from ...service.device.transport import Transport, Unreachable
from ...service.http.serving import announced_url


class NotServed(ConfideError):
    """A collector that did not come up."""


class Process:
    """One `confide serve`, `confide shuffle` or `confide curate`, on a port of this machine."""

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        database: str | None = None,
        log: Path | None = None,
        command: str = "serve",
        options: Sequence[str] = (),
    ) -> None:
        package = __name__.split(".")[0]
        self._command = [sys.executable, "-P", "-m", package, command, str(folder), "--port", str(port), *options]
        if database is not None:
            self._command += ["--database", database]
        self._log = log or folder / ("log" if command == "serve" else f"{command}.log")
        # A shuffler or a curator is ready only after a collector announced a round, for which it must be there already.
        self._command_name, self._page = command, "/readyz" if command == "serve" else "/healthz"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{port}"

    def start(self, wait: float = 60.0) -> Process:
        """Start the process, and wait until it is ready."""
        self.launch()
        try:
            self.wait(wait)
        except BaseException:
            self.kill()
            raise
        return self

    def launch(self) -> None:
        """Start the process and do not wait."""
        began = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        self._read_from = began

    def wait(self, seconds: float) -> None:
        """Wait until it is ready; refused if that takes longer."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                break
            if self._find_url() and self._ready():
                return
            time.sleep(0.05)
        raise NotServed("service-not-up", f"The collector did not come up: {self.log_text()[-500:]}")

    def log_text(self) -> str:
        """The text that it logged since it was started."""
        return self._log.read_bytes()[self._read_from :].decode(errors="replace")

    def _find_url(self) -> bool:
        for line in self.log_text().splitlines():
            address = announced_url(line)
            if address is not None and (self._command_name != "serve" or '"serve"' in line):  # not its curator's
                self.url = address
                return True
        return False

    def _ready(self) -> bool:
        try:
            return Transport(self.url, 5.0).get(self._page).status == 200
        except Unreachable:
            return False

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def ended(self, wait: float) -> int | None:
        """The exit code of a process that ends by itself within this many seconds; None if it does not."""
        assert self._process is not None
        try:
            return self._process.wait(wait)
        except subprocess.TimeoutExpired:
            return None

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End it as a power cut would: it gets no chance to do anything."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self, wait: float = 10.0) -> float:
        """Ask it to end, and return how many seconds that took."""
        began = time.monotonic()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(wait)
            except subprocess.TimeoutExpired:
                self.kill()
        return time.monotonic() - began
