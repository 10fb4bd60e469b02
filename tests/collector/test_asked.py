"""A service whose devices are asked about pairs: it learns from their reports as from any others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from confide.collector.founding import make_service
from confide.collector.learning import RoundLearner
from confide.learners import state_bytes
from confide.mdp import Spec
from confide.mechanisms.noise import LightNoise
from confide.privacy import Local
from confide.privatizers import respond
from confide.releases import Sum, release_bytes
from confide.trajectories import Trajectory


def test_a_round_of_asked_pairs_is_learned_from(tmp_path: Path) -> None:
    spec, people = Spec(2, 2, 3), 40
    contract = make_service(tmp_path / "tea", spec, Local(epsilon=2.0), people, mechanism="asked-k-ary").contract()
    design, school = contract.design, RoundLearner(contract)
    assert design.question.kind == "asked"
    state, total, _, _, asked = school.begin()
    luck, received = np.random.default_rng(0), Sum.empty(design)
    for _ in range(people):
        walk = Trajectory(luck.integers(2, size=4), luck.integers(2, size=3), luck.integers(2, size=3).astype(float))
        received.add(respond(design, None, walk, LightNoise()))
    after, _, _, expected, release, _ = school.learn(state, total, [(b"", received.to_bytes())])
    decoded = release_bytes.from_bytes(release)
    assert decoded.counts.people.sum() == people and not decoded.complete
    assert state_bytes.from_bytes(after, school.learner).users == people
    assert len(expected) == 8 * 4 and asked == b""


def test_by_default_every_device_can_answer(tmp_path: Path) -> None:
    """Sampled steps tell what people earn, which asked pairs do not; devices in browsers know both."""
    contract = make_service(tmp_path / "tea", Spec(6, 2, 20), Local(epsilon=1.0), 100).contract()
    assert contract.design.question.kind == "step" and contract.design.mechanism.encoding == "subset"
