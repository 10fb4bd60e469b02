"""Log lines of what servers share: one JSON object a line, whichever server it is, and nothing of what was sent."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from confide.service.http.group_commit import GroupCommitter
from confide.service.http.serving import LOGGER, log_to

SECRET = "state 3, action 1"


class FullDisk:
    """A store that cannot commit."""

    def count(self, arrivals: Sequence[Any]) -> Sequence[Any]:
        raise OSError(f"no space left for {arrivals}")


@pytest.fixture
def logger() -> Iterator[str]:
    names = ("confide.tests", LOGGER, "uvicorn.error")
    before = {name: (logging.getLogger(name).handlers, logging.getLogger(name).propagate) for name in names}
    yield names[0]
    for name, (handlers, propagate) in before.items():
        logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate


def test_a_commit_that_fails_is_one_line_of_json_at_every_server(
    logger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def submitted() -> str:
        committer = GroupCommitter(FullDisk(), lambda: None, lambda many, seconds: None)
        committer.start()
        try:
            return str(await committer.submit(SECRET))
        except OSError:
            return "failed"
        finally:
            committer.stop()

    log_to(logger)
    assert asyncio.run(submitted()) == "failed"
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["error"], told["reports"]) == ("error", "OSError", 1)
    assert SECRET not in line
