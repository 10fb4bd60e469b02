"""A batch may have more people than it needs: then the release is as noisy as it says, and about every user."""

from __future__ import annotations

import numpy as np
import pytest

from confide.data.privatizers import respond
from confide.protocol.releases import Sum
from confide.service.collector.rounds import close_round, empty_sum
from tests.service.intermediary.offices import episode, shuffle_design


def test_the_noise_of_everybody_is_told() -> None:
    """Of 24 people in a batch of 20 the error is that of 24 reports: each flips its bits by the same law."""
    design = shuffle_design(20)
    total = Sum.empty(design)
    for number in range(24):
        (submission,) = respond(design, None, episode(number))
        total.add(submission.report)
    _, release = close_round(design, empty_sum(design), total.to_bytes())
    assert release.users == 24
    radii, noise = design.radii(20), design.errors_at(20)[1]
    assert (np.array(list(release.radius)) > radii).all() and (np.array(list(release.radius)) < design.radii(40)).all()
    for part in ("visits", "centred", "transitions"):
        assert getattr(release.noise, part) == pytest.approx(24 / 20 * getattr(noise, part))
