"""`confide environments` lists worlds whose addresses work."""

from __future__ import annotations

import json

import pytest

from confide.cli import run
from confide.lab import environments


def test_every_world_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["environments"]) == 0
    printed = capsys.readouterr().out
    assert all(listing.example in printed for listing in environments.catalogue())


def test_every_address_in_the_json_can_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["environments", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in document["environments"]] == environments.names()
    for row in document["environments"]:
        assert set(row) == {"name", "address", "horizon", "model", "description"}
        if row["name"] != "icu-sepsis":  # an optional package
            world = environments.make(row["address"])
            assert (world.spec.horizon, world.spec.dynamics) == (row["horizon"], row["model"])
