"""Any one of local epsilon, batch and epsilon of the sums from the other two, in Python and on the command line."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from confide import Shuffle
from confide.cli import run as command
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Schedule
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.trusts.mixing import Mixing
from confide.protocol.trusts.shuffle import local_guarantee
from confide.protocol.trusts.shuffle_forecast import shuffle_forecast
from tests.refusals import refused

from .making import design


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_any_one_of_three(model: str) -> None:
    spec = Spec(2, 2, 2, model)
    for index, row in enumerate(shuffle_forecast(spec, 1e-6, epsilon=1.0, batch=1000)):
        assert row.epsilon == pytest.approx(1.0, rel=1e-3)
        again = shuffle_forecast(spec, 1e-6, batch=1000, local_epsilon=row.local_epsilon)[index]
        assert again.epsilon == pytest.approx(row.epsilon, rel=1e-3)
        batch = shuffle_forecast(spec, 1e-6, epsilon=1.0, local_epsilon=row.local_epsilon)[index].batch
        assert batch == pytest.approx(1000, rel=0.02)


def test_a_forecast_is_what_is_designed() -> None:
    question = CountQuestion(Spec(2, 2, 2), last=DROPPED)
    made = design(question, Shuffle(1.0, 1e-6), Schedule.sized(5000, 1000), "sound", mixing=Mixing(1000, 0.5))
    row = shuffle_forecast(Spec(2, 2, 2), 1e-6, epsilon=1.0, batch=1000, honest=0.5)[0]
    assert row.local_epsilon == pytest.approx(local_guarantee(made).epsilon)
    assert row.honest == 500 and row.changed_bits == 10
    assert row.flip == pytest.approx(made.mechanism.crowds[0].flip)
    assert row.noise == pytest.approx(math.sqrt(1000 * made.devices[0].variance(1)))


def test_more_reward_bits_are_more_bits() -> None:
    (row,) = shuffle_forecast(Spec(2, 2, 2), 1e-6, epsilon=1.0, batch=1000, reward_bits=3)
    assert row.changed_bits == 18


def test_honest_people_raise_the_batch() -> None:
    all_of_them, half = (
        shuffle_forecast(Spec(2, 2, 2), 1e-6, epsilon=1.0, local_epsilon=15.0, honest=share)[0] for share in (1.0, 0.5)
    )
    assert abs(half.batch - 2 * all_of_them.batch) <= 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"epsilon": 1.0}, "batch-two-of-three"),
        ({"epsilon": 1.0, "batch": 100, "local_epsilon": 10.0}, "batch-two-of-three"),
        ({"epsilon": 2.0, "local_epsilon": 1.0}, "batch-local-epsilon-low"),
        ({"epsilon": 1.0, "batch": 1}, "not-a-whole-number: batch"),
        ({"epsilon": 1.0, "local_epsilon": 10.0, "honest": 50}, "honest-not-a-share"),
        ({"epsilon": 1.0, "batch": 100, "reward_bits": 0}, "not-a-whole-number: levels"),
    ],
)
def test_what_cannot_be_forecast(given: dict[str, Any], reason: str) -> None:
    with refused(reason):
        shuffle_forecast(Spec(2, 2, 2), 1e-6, **given)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["forecast", "--trust", "shuffle", "--states", "2", "--actions", "2", "--horizon", "2", "--delta", "1e-6"]
    assert command([*words, "--epsilon", "1", "--batch", "1000", "--honest", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["mechanism"] for row in rows] == ["shuffled-bits", "shuffled-step"]
    assert 2 * rows[0]["flip"] == pytest.approx(0.2483, rel=3e-3)
    assert command([*words, "--epsilon", "1"]) == 2
    assert "Give two of" in capsys.readouterr().err
    assert command([*words, "--epsilon", "1", "--batch", "1000"]) == 0
    assert "local" in capsys.readouterr().out
    assert command([word.replace("shuffle", "local") for word in words] + ["--epsilon", "1", "--batch", "9"]) == 2
    assert "Only --trust shuffle takes batch" in capsys.readouterr().err
