"""Observed episodes as a curator gets them: bytes of one length, the same episode again, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from confide.data.trajectories.observed import HEADER, ObservedEpisodes, from_handed, handed, handed_length
from confide.protocol.kinds.moments import MomentsQuestion
from tests.js.featured import lived, questions, shop
from tests.refusals import refused

STEPS = MomentsQuestion.of(shop(), 4)


@pytest.mark.parametrize("question", list(questions()), ids=lambda one: f"{one.features.dimension}-{one.horizon}")
def test_an_episode_is_read_again_and_has_one_length(question: MomentsQuestion) -> None:
    rng = np.random.default_rng(3)
    for steps in range(question.horizon + 1):
        episode = lived(question, rng, steps)
        data = handed(episode, question)
        again = from_handed(data, question)
        assert isinstance(again, ObservedEpisodes) and len(data) == handed_length(question)
        for first, second in zip(
            (episode.observations, episode.actions, episode.rewards),
            (again.observations, again.actions, again.rewards),
            strict=True,
        ):
            assert np.array_equal(first, second)
        assert handed(again, question) == data


def test_what_cannot_have_happened_is_refused() -> None:
    good = handed(lived(STEPS, np.random.default_rng(0), 4), STEPS)
    inputs, start = len(STEPS.features.inputs), HEADER.size
    nowhere = np.array([np.nan]).tobytes()
    plan = start + 8 * 2  # the third number of the first observation: a category with three values
    actions = start + 8 * inputs * 5

    def with_(at: int, part: bytes) -> bytes:
        return good[:at] + part + good[at + len(part) :]

    for wrong, code in (
        (b"", "episode-bytes-unreadable"),
        (good[:-1], "episode-bytes-unreadable"),
        (good + b"\0", "episode-bytes-unreadable"),
        (b"cfe1" + good[4:], "episode-bytes-unreadable"),
        (with_(4, b"\5"), "episode-bytes-too-long"),
        (with_(8, b"\2"), "episode-bytes-too-long"),
        (with_(start, nowhere), "episode-impossible"),
        (with_(plan, np.array([3.0]).tobytes()), "episode-impossible"),
        (with_(plan, np.array([0.5]).tobytes()), "episode-impossible"),
        (with_(actions, b"\3"), "episode-impossible"),
        (with_(len(good) - 8, nowhere), "episode-impossible"),
    ):
        with refused(code):
            from_handed(wrong, STEPS)
