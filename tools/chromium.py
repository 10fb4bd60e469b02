"""A real Chromium without a driver: its debugging protocol over two pipes, for tests that look and click, and for pictures.

with Browser() as browser:
    page = browser.open("http://127.0.0.1:8000/", width=375, dark=True)
    page.click("#verify")
    page.until("document.querySelector('.ok')")
    page.picture(Path("dashboard.png"))
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from 3 and writes answers to 4."""


def executable() -> str | None:
    """`$CONFIDE_CHROMIUM`, or the first on PATH; None if there is none."""
    chosen = os.environ.get("CONFIDE_CHROMIUM")
    return chosen or next((path for name in NAMES if (path := shutil.which(name))), None)


class BrowserFailed(Exception):
    """The browser said no, or nothing."""


class Browser:
    """One Chromium with a profile of its own, which is forgotten when it is closed, or kept in a folder."""

    def __init__(self, profile: Path | None = None) -> None:
        path = executable()
        if path is None:
            raise BrowserFailed("There is no Chromium here. Install one, or name it in CONFIDE_CHROMIUM.")
        self._own = None if profile else tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        folder = str(profile) if self._own is None else self._own.name
        reads, command_end = os.pipe()
        answer_end, writes = os.pipe()
        self._write, self._read = os.fdopen(command_end, "wb"), os.fdopen(answer_end, "rb")
        command = [sys.executable, "-I", "-S", "-c", LAUNCH, str(reads), str(writes), path, *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(reads)
        os.close(writes)
        self._number, self._lock = 0, threading.Lock()
        self._answers: dict[int, Queue[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        left = b""
        while part := os.read(self._read.fileno(), 1 << 16):
            *messages, left = (left + part).split(b"\0")
            for raw in messages:
                message = json.loads(raw)
                if answer := self._answers.get(message.get("id")):
                    answer.put(message)
                elif page := self._pages.get(message.get("sessionId", "")):
                    page.hear(message["method"], message["params"])

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        with self._lock:
            self._number += 1
            number, answer = self._number, Queue[dict[str, Any]]()
            self._answers[number] = answer
            message: dict[str, Any] = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            self._write.write(json.dumps(message).encode() + b"\0")
            self._write.flush()
        try:
            reply = answer.get(timeout=PATIENCE)
        except Empty:
            raise BrowserFailed(f"{method} was not answered within {PATIENCE:.0f} s.") from None
        finally:
            del self._answers[number]
        if "error" in reply:
            raise BrowserFailed(f"{method}: {reply['error']['message']}")
        result: dict[str, Any] = reply["result"]
        return result

    def open(self, url: str, width: int = 1280, height: int = 900, dark: bool = False, scale: float = 1.0) -> Page:
        """A new page of that size, once it is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.send("Emulation.setEmulatedMedia", features=features)
        page.show()
        page.go(url)
        return page

    def close_pages(self) -> None:
        """Close all tabs that were opened here."""
        for session in list(self._pages):
            self._pages.pop(session).close()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, and everything it started."""
        with contextlib.suppress(Exception):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        with contextlib.suppress(OSError):
            self._write.close()
        self._listener.join(5)
        self._read.close()
        if self._own is not None:
            self._own.cleanup()


class Page:
    """One tab. errors: what it complained about; requests: what it asked for, by method and address."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.errors: list[str] = []
        self.requests: list[tuple[str, str]] = []
        self._loaded = threading.Event()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command about this page."""
        return self._browser.send(method, self._session, **params)

    def close(self) -> None:
        """Close the tab, and with it what it holds open."""
        self._browser.send("Target.closeTarget", targetId=self._target)

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """Note what went wrong, and what was asked for."""
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert", "warning"):
            self.errors.append(
                " ".join(str(argument.get("value", argument.get("description"))) for argument in params["args"])
            )
        elif method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append((params["request"]["method"], params["request"]["url"]))

    def go(self, url: str) -> None:
        """To another address, until it is loaded."""
        self._loaded.clear()
        self.send("Page.navigate", url=url)
        if not self._loaded.wait(PATIENCE):
            raise BrowserFailed(f"{url} was not loaded within {PATIENCE:.0f} s.")
        wanted = json.dumps(url)
        self.until(f"document.readyState === 'complete' && location.href.split('#')[0] === {wanted}.split('#')[0]")

    def show(self) -> None:
        """Bring the tab to the front."""
        self.send("Page.bringToFront")

    def run(self, expression: str) -> Any:
        """What JavaScript says, awaited."""
        message = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in message:
            details = message["exceptionDetails"]
            raise BrowserFailed(details.get("exception", {}).get("description") or details["text"])
        return message["result"].get("value")

    def until(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until JavaScript says something true, and return it; for an element, that it is there."""
        until = time.monotonic() + seconds
        script = f"(async () => {{ const found = await ({expression}); return found instanceof Node || found; }})()"
        while not (value := self.run(script)):
            if time.monotonic() > until:
                raise BrowserFailed(f"It did not become true within {seconds:g} s: {expression}")
            time.sleep(0.1)
        return value

    def text(self, selector: str) -> str:
        """The text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent")).strip()

    def click(self, selector: str) -> None:
        """A real click, in the middle of an element that can be clicked."""
        where = json.dumps(selector)
        self.until(f"(one => one && !one.disabled)(document.querySelector({where}))")
        x, y = self.until(
            f"(async () => {{ const one = document.querySelector({where}); const box = () => one.getBoundingClientRect();"
            " one.scrollIntoView({block: 'center', behavior: 'instant'}); const before = box();"
            " await new Promise(done => setTimeout(done, 100)); const {x, y, width, height} = box();"
            " const at = [x + width / 2, y + height / 2];"  # it stands still, and nothing lies over it
            " return before.y === y && one.contains(document.elementFromPoint(...at)) && at; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str) -> None:
        """One key, such as Tab or Enter."""
        extra = {"text": "\r"} if name == "Enter" else {}
        self.send(
            "Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=_KEYS[name], **extra
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=_KEYS[name])

    def picture(self, path: Path, whole: bool = True, kind: str = "png") -> None:
        """A screenshot, of the whole page or of what is in view."""
        quality = {"quality": 80} if kind != "png" else {}
        message = self.send("Page.captureScreenshot", format=kind, captureBeyondViewport=whole, **quality)
        path.write_bytes(base64.b64decode(message["data"]))

    def print(self, path: Path) -> None:
        """As a PDF."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"]))


_KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27}


@contextlib.contextmanager
def page(url: str, **how: Any) -> Iterator[Page]:
    """One page in a browser of its own."""
    with Browser() as browser:
        yield browser.open(url, **how)
