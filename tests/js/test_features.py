"""Devices in JavaScript that tell of described features, against the package: what Python reads, sums and learns from."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.data.statistics.moments import moments_of_each
from confide.data.trajectories import Trajectory
from confide.data.trajectories.observed import ObservedEpisodes
from confide.lab.audit import browsers
from confide.lab.staging.processes import Process
from confide.mechanisms.privunit import PrivUnit
from confide.privacy import Guarantee, Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds.moments import MomentsQuestion
from confide.protocol.releases import ReportAggregate
from confide.protocol.releases.release import read_release
from confide.service.collector.founding import make_service
from confide.service.device import Transport
from tests.service.contract.example import contract as plain_contract

from . import featured
from .test_reports import NODE, node

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(NODE is None, reason="there is no Node 20 here"),
]
PEOPLE = 2000


def _rows(episode: ObservedEpisodes) -> Trajectory:
    """The episode as Node is given it: rows of what was observed in place of states."""
    return Trajectory(episode.observations[0].astype(object), episode.actions[0], episode.rewards[0])


@pytest.mark.parametrize(("promise", "mechanism"), [(Local(epsilon=4.0), "privunit"), (Local(rho=0.5), "gaussian")])
@pytest.mark.parametrize("at", [0, 2])
def test_reports_of_pages_sum_to_moments_within_their_radius(promise: Guarantee, mechanism: str, at: int) -> None:
    """Every sum is within the design's radius, which fails with probability 1e-6; and the noise has its variance."""
    question = list(featured.questions())[at]
    design = make(Request(question, promise, Schedule.every(PEOPLE), mechanism=mechanism, failure=1e-6))
    rng = np.random.default_rng(11)
    people = [featured.lived(question, rng, question.horizon) for _ in range(PEOPLE)]
    exact = np.concatenate([moments_of_each(question, one) for one in people])
    aggregate, cells = ReportAggregate(design), []
    for data in browsers.reports(plain_contract(design, learner=featured.LEARNER).data, list(map(_rows, people))):
        aggregate.take(data)
        cells.append(np.frombuffer(data, dtype={3: "<i2", 4: "<i4"}[data[37]], offset=42) * design.mechanism.grid)
    release = aggregate.close()
    gram, vector = question.unpack(exact.sum(axis=0))
    assert release.users == PEOPLE and np.abs(release.gram - gram).max() > 0
    assert np.abs(np.linalg.eigvalsh(release.gram - gram)).max() <= release.radius[0]
    assert np.linalg.norm((release.vector - vector).reshape(*vector.shape[:2], -1), axis=-1).max() <= release.radius[1]
    away = np.array(cells) - exact
    spread = float((away**2).mean()) / design.mechanism.variance()
    if isinstance(
        design.mechanism, PrivUnit
    ):  # whose messages all have one length, and their vectors too little to matter
        spread += float((exact**2).mean()) / design.mechanism.variance()
    assert 0.8 < spread < 1.25  # 2/3 and 3/2 of the scale would be .44 and 2.25


@pytest.mark.parametrize("promise", [Local(4.0), Guarantee("joint", 20.0, 1e-6)], ids=["local", "joint"])
def test_people_in_pages_are_counted_and_learned_from(tmp_path: Path, promise: Guarantee) -> None:
    many, features = 30, featured.shop()
    question = MomentsQuestion.of(features, 3)
    times = {"deadline": 2.0, "publication": 0.1, "patience": 1.0}
    joint: dict[str, Any] = {"window": 0.5, "between": times} if promise.trust == "joint" else {}
    schedule = Schedule.batches(2 * many, 2)
    folder = make_service(
        tmp_path / "tea",
        question.spec,
        promise,
        2 * many,
        learner="linear",
        described=features,
        schedule=schedule,
        **joint,
    )
    made = folder.contract()
    process = Process(folder.path).start()
    try:
        script = str(Path(__file__).with_name("visit_observed.mjs"))
        result = json.loads(node(script, process.url, made.pin, str(many)))
        data, line = None, Transport(process.url, 10.0)
        for _ in range(600):
            answer = line.get("/v1/releases/1")
            data = answer.body if answer.status == 200 else None
            if data:
                break
            time.sleep(0.1)
    finally:
        process.stop()
    assert data is not None
    assert result["counted"] == many and not result["input"]
    release = read_release(made.design, data)
    lived = [
        ObservedEpisodes.single(np.array(one["states"]), one["actions"], one["rewards"]) for one in result["lives"]
    ]
    exact = question.unpack(sum(moments_of_each(question, one)[0] for one in lived))
    assert release.users == many
    assert 0 < np.abs(np.linalg.eigvalsh(release.gram - exact[0])).max() <= release.radius[0]
