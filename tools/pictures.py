"""The pictures of the README, from a running service: `python -m tools.pictures http://127.0.0.1:8000`, served with --demo-page."""

from __future__ import annotations

import base64
import sys
import time
from pathlib import Path

from .chromium import Browser, Page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "service"
WIDTH, HEIGHT = 1200, 1500


def save(page: Page, name: str) -> None:
    """The top of a page, small."""
    time.sleep(1)
    area = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 0.75}
    message = page.send("Page.captureScreenshot", format="webp", quality=72, clip=area)
    path = FOLDER / f"{name}.webp"
    path.write_bytes(base64.b64decode(message["data"]))
    print(path, path.stat().st_size, "bytes")


def main(url: str) -> None:
    """Both pages."""
    with Browser() as browser:
        page = browser.open(f"{url}/", WIDTH, HEIGHT)
        page.until(
            "document.querySelectorAll('#policy-picture td').length && document.querySelector('#worth-chart circle')"
        )
        page.click("#verify")
        page.until("document.querySelector('#verify-result.ok')")
        page.run("scrollTo({top: 0, behavior: 'instant'})")
        save(page, "dashboard")
        page = browser.open(f"{url}/demo", WIDTH, HEIGHT)
        for key in ("#swim", "#swim", "#follow"):
            page.click(key)
        page.until("!document.querySelector('#letter').hidden")
        page.run("scrollTo({top: 0, behavior: 'instant'})")
        save(page, "demo")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
