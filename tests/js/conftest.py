"""Marks what needs Node, or a browser besides."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "service: starts a collector; run with `./run test --all`")
    config.addinivalue_line("markers", "browser: needs Node, or a Chromium; run with `./run test --all`")
