"""The demo: what it prints, and that its world and promise are such that people teach it something."""

from __future__ import annotations

import pytest

from confide import Local, simulate
from confide.staging.demo import EPSILON, HORIZON, PEOPLE, ROUNDS, WORLD, demonstrate

FIRST = 0.14919
"""The value of the policy before anybody came: any action alike, six steps."""


def test_the_last_policy_beats_the_first() -> None:
    """In 19 of 20 runs; by `simulate`, whose law is that of the service. 400 of 400 did when it was chosen."""
    found = simulate("ucbvi", WORLD, Local(EPSILON), PEOPLE, 100, horizon=HORIZON, schedule=f"batches:{ROUNDS}")
    assert (found.final_value > FIRST).mean() >= 0.95


@pytest.mark.service
def test_what_it_says() -> None:
    heard = []
    found = demonstrate(200, heard.append)
    assert set(found) == {"rounds", "reports", "certificate", "seconds"}
    assert found["rounds"] == heard and len(heard) == ROUNDS + 1
    assert [row["people"] for row in heard] == [20 * number for number in range(ROUNDS + 1)]
    assert heard[0]["value"] == pytest.approx(FIRST, rel=1e-4)
    assert found["reports"] == {"sent": 200, "counted": 200, "refused": 0}
    assert found["certificate"]["certificate"]["guarantees"][0]["epsilon"] == EPSILON
