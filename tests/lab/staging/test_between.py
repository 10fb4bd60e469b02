"""People of a service with a shuffler or a curator are those of `simulate`: what a batch holds has the same law, and who is
shown its release learns the same. So regret has the same law too: it is a function of the policies alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from confide.data.privatizers import drawn
from confide.lab.environments import make
from confide.lab.simulation.batched import drawing
from confide.lab.simulation.draws import World
from confide.lab.staging import Manners, check_url, visit
from confide.learning.learners import make as learner_of
from confide.learning.learners import state_bytes
from confide.mdp import Policy, policies
from confide.protocol.releases import release_bytes
from confide.service.contract import Contract, SignedHead
from tests.service.intermediary.offices import contract_of, joint_design, shuffle_design
from tests.service.intermediary.services import Pair, serving

pytestmark = pytest.mark.service
WORLD, HORIZON, BATCH = "random/3x2", 6, 200
FALSE_ALARM = 1e-6
GROUPS = 2000


def made_of(trust: str) -> Contract:
    spec = make(WORLD, HORIZON).spec
    return contract_of(joint_design(BATCH, 2, spec=spec) if trust == "joint" else shuffle_design(160, 2, spec=spec))


def held(pair: Pair) -> np.ndarray:
    """The sum that is open in memory, in the units of what is counted."""
    batches = pair.doors.manager.open_batches
    if pair.doors.role == "curator":
        return batches._sums[1] * pair.doors.manager.contract.design.mechanism.grid
    (total,) = batches._shuffler._sums.values()
    return total.cells[0].astype(float)


def groups_of(contract: Contract, people: int, several: list[np.ndarray]) -> np.ndarray:
    """(groups, cells) what as many people's messages add up to, as `simulate` draws them."""
    model = make(WORLD, HORIZON).model
    draw, rng = (
        drawing(contract.design, World(model.transitions, model.rewards, model.initial)),
        np.random.default_rng(5),
    )
    results = []
    for _ in range(GROUPS):
        parts = [
            draw(contract.design.question, policy, size, rng)
            for policy, size in zip(several, _shares(people, len(several), rng), strict=True)
        ]
        totals, received = (sum(each) for each in zip(*parts, strict=True))
        if contract.design.mixing is None:
            results.append(totals[0])
        else:
            (total,) = drawn(contract.design, totals, received, rng)
            results.append(total.cells[0].astype(float))
    return np.array(results)


def _shares(people: int, many: int, rng: np.random.Generator) -> list[int]:
    return rng.multinomial(people, np.full(many, 1 / many)).tolist()


def fits(sums: np.ndarray, groups: np.ndarray) -> bool:
    """Whether sums lie where those of `simulate` do: in busy cells, by a normal law, a quarter wider for what that leaves out."""
    mean, spread = groups.mean(axis=0), groups.std(axis=0)
    busy = spread > 2.0
    assert busy.sum() >= 3
    most = 1.25 * norm.isf(FALSE_ALARM / (2 * busy.sum()))
    return bool((np.abs(sums - mean)[busy] <= most * spread[busy]).all())


@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_the_law_is_that_of_simulate(tmp_path: Path, trust: str) -> None:
    contract = made_of(trust)
    with serving(tmp_path, contract) as pair:
        rude = Manners(drop=0.2, repeat=0.2, hostile=0.2)
        came = visit(pair.collector.url, WORLD, BATCH, seed=3, workers=8, manners=rude).as_json()
        assert (came["sent"], came["counted"], came["doubled"]) == (BATCH, BATCH, 0) and came["repeated"] > 0
        head = _head(pair, 1)
        spec = contract.design.question.spec
        several = [one.probabilities for one in policies.from_bytes(_policy(pair, head), spec)]
        sums = held(pair)
        assert fits(sums, groups_of(contract, BATCH, several))
        wrong = [np.eye(2)[np.zeros((HORIZON, 3), dtype=int)]]  # always the first action
        assert not fits(sums, groups_of(contract, BATCH if trust == "joint" else BATCH * 2 // 3, wrong))
        state, _ = pair.collector.collector.store.state(1)
        pair.close_batch(1)
        learner = learner_of("ucbvi")
        release = release_bytes.from_bytes(pair.collector.get("/v1/releases/1")[1])
        after = learner.learn(state_bytes.from_bytes(state, learner), release)
        raw = policies.to_bytes([Policy(table) for table in after.policies])
        assert hashlib.sha256(raw).hexdigest() == _head(pair, 2).policy
        assert release.users == BATCH and check_url(pair.collector.url)["heads"] == 2


def _head(pair: Pair, number: int):
    return SignedHead.from_json(pair.collector.get(f"/v1/rounds/{number}")[1], pair.collector.contract.key).head


def _policy(pair: Pair, head) -> bytes:
    return pair.collector.get(f"/v1/policies/{head.policy}")[1]
