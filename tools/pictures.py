"""The pictures of the README, from real runs: `python -m tools.pictures` draws them all, `... report service` those that are named.

The regret curves are what the README's own command plots; the report is that of the fit of `confide demo`; the dashboard and the
game are those of the README's own service. They need a Chromium. Headings that stand in a picture are kept, so that a test
sees when a page has others by now.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

from confide.cli import run
from confide.lab.staging.processes import Process

from .chromium import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
REGRET, REPORT = ROOT / "docs" / "pictures" / "regret.png", ROOT / "docs" / "pictures" / "report.webp"
SERVICE = ROOT / "docs" / "service"
SHOWN = ROOT / "docs" / "pictures" / "shown.json"
"""For each picture of a page, the headings that can be read in it."""
WIDTH, HEIGHT = 1200, 1500
HEADINGS = """
[...document.querySelectorAll("h1, h2, h3")]
  .filter((one) => one.offsetParent && one.getBoundingClientRect().bottom < %d)
  .map((one) => one.textContent.trim().replace(/\\s+/g, " ")).join("\\n")
"""


def save(page: Page, path: Path, width: int = WIDTH, height: int = HEIGHT) -> None:
    """The top of a page, small."""
    time.sleep(1)
    area = {"x": 0, "y": 0, "width": width, "height": height, "scale": 0.75}
    message = page.send("Page.captureScreenshot", format="webp", quality=72, clip=area)
    path.write_bytes(base64.b64decode(message["data"]))
    kept = json.loads(SHOWN.read_text(encoding="utf-8")) if SHOWN.exists() else {}
    kept[str(path.relative_to(ROOT))] = page.run(HEADINGS % height).split("\n")
    SHOWN.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path, path.stat().st_size, "bytes")


def words(beginning: str) -> list[str]:
    """The words after `confide` of the README's first command that begins like this, without its last comment."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    line = re.search(rf"^confide ({beginning} .*)$", text, flags=re.MULTILINE)
    assert line
    return shlex.split(line[1], comments=True)


def report(browser: Browser, folder: Path) -> None:
    """The first screen of a fit's report."""
    run(["demo", "--out", str(folder / "demo")])
    save(browser.open((folder / "demo" / "clinic" / "report.html").as_uri(), 1000, 800), REPORT, 1000, 800)


def service(browser: Browser, folder: Path) -> None:
    """The dashboard and the game of a service, most of whose users came."""
    new, come = words("service new"), words("visit")
    new[2] = str(folder / "tea")
    run(new)
    process = Process(folder / "tea", options=["--demo-page"]).start()
    try:
        run([come[0], process.url, *come[2:-1], str(folder / "tea-issuer")])
        _pages(browser, process.url)
    finally:
        process.stop()


def _pages(browser: Browser, url: str) -> None:
    page = browser.open(f"{url}/", WIDTH, HEIGHT)
    page.until(
        "document.querySelectorAll('#policy-picture td').length && document.querySelector('#return-chart circle')", 600
    )
    page.click("#verify")
    page.until("document.querySelector('#verify-result.ok')", 600)
    page.run("scrollTo({top: 0, behavior: 'instant'})")
    save(page, SERVICE / "dashboard.webp")
    page = browser.open(f"{url}/demo", WIDTH, HEIGHT)
    for key in ("#swim", "#swim", "#follow"):
        page.click(key)
    page.until("!document.querySelector('#letter').hidden", 600)
    page.run("scrollTo({top: 0, behavior: 'instant'})")
    save(page, SERVICE / "demo.webp")


def main(names: list[str]) -> None:
    """Draw those that are named, or all."""
    if not names or "regret" in names:
        run([*words("simulate")[:-1], str(REGRET)])
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        if not names or "report" in names:
            report(browser, Path(folder))
        if not names or "service" in names:
            service(browser, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
