"""Contracts that a hostile operator writes: whose words and design agree, and whose guarantee is not true."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

from confide.mdp import Spec
from confide.mechanisms.gaussian import Gaussian, sigma_for
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.privacy import Act, Guarantee, Sensitivity
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.trusts.mixing import BEYOND
from confide.service.contract import Contract
from confide.service.contract.contract import stated
from tests.protocol.combinations import described
from tests.protocol.test_accepted import by_part, shuffled_pairs
from tests.service.intermediary.offices import contract_of, joint_design, shuffle_design

from .example import contract

DELTA = 1e-6


def written(design: Design) -> bytes:
    """The bytes of a contract about a design, by a user who checks nothing."""
    sound = {
        "local": contract,
        "shuffle": lambda: contract_of(shuffle_design()),
        "joint": lambda: contract_of(joint_design()),
    }
    document = {**sound[design.trust]().document, **stated(design)}
    spec = design.question.spec
    document["labels"] = {
        "states": [f"s{n}" for n in range(spec.states)],
        "actions": [f"a{n}" for n in range(spec.actions)],
    }
    if design.mixing is not None:
        document["intermediary"] = {
            **document["intermediary"],
            "tickets": int(design.mixing.batch * (1 + BEYOND) + 0.5),
        }
    return json.dumps(document).encode()


def by_the_number_of_bits(trust: str, horizon: int = 20) -> Design:
    """Counters pooled over steps, with Gaussian noise for as many cells as bits can change."""
    question = BitQuestion(CountQuestion(Spec(2, 2, horizon), last="dropped"))
    bits = round(question.price().l1)
    size = Sensitivity(float(bits), bits**0.5, ((1.0, bits),), bits)
    if trust == "local":
        noise: object = Gaussian(sigma_for(Guarantee(trust, 1.0, DELTA), size.l2, 1.0), 1.0)
    else:
        mu = Guarantee(trust, 1.0, DELTA).mu()
        noise = ToeplitzCounter(1, ToeplitzCounter.sigma_for(mu, size, 1, 1.0), 1.0)
    design = described(question, noise, trust)
    return replace(design, act=Act(noise, size))  # type: ignore[arg-type]


@cache
def unsound() -> dict[str, Design]:
    """The three that were accepted once, and one more of the first."""
    return {
        "Gaussian noise on pooled bits": by_the_number_of_bits("local"),
        "a counter of pooled bits": by_the_number_of_bits("joint"),
        "asked pairs to a shuffler": shuffled_pairs(),
        "noise by part whose parts are not those of the question": by_part(12),
    }


def trusting(design: Design) -> Contract:
    """The contract as a reader without the table would have it."""
    data = written(design)
    return Contract(data, json.loads(data), design)
