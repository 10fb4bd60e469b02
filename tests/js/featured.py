"""Golden vectors of services about described features: what is observed, its moments, PrivUnit, weights and episodes as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from confide.data.statistics.moments import moments_of_each
from confide.data.trajectories.observed import ObservedEpisodes, handed
from confide.lab.environments import make as environment
from confide.mdp.described import ACTION, COS, IS, POWER, SIN, Category, DescribedFeatures, Factor, Number
from confide.mdp.feature_policy import FeaturePolicy, published
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.privunit import PrivUnit
from confide.privacy import Guarantee, Local, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds.moments import MomentsQuestion
from confide.protocol.releases.report import Report, limits, report_length
from confide.service.contract import Contract, Ticket
from confide.service.contract.tickets import parcel
from tests.service.contract.example import contract as plain_contract
from tests.service.intermediary.offices import contract_of

SEED = 29
EPISODES = 1
LEARNER = {"name": "linear", "options": {}, "failure": 0.1, "bonus_scale": 1.0}


def shop() -> DescribedFeatures:
    """Numbers, categories, interactions, Fourier terms, and actions with numbers of their own."""
    age, late, plan = Number("age", 18, 90), Number("hour", 0, 24), Category("plan", ("free", "pro", "team"))
    price, pro = Factor("price", ACTION), Factor("plan", IS, "pro")
    terms = [
        (),
        (price,),
        (Factor("age", POWER, 1),),
        (Factor("age", POWER, 2), price),
        (Factor("hour", COS, 1),),
        (Factor("hour", SIN, 2), pro),
        (pro, price),
    ]
    return DescribedFeatures.over_cloud(
        (age, late, plan), ("none", "tea", "cake"), terms, numbers={"price": (0, 0.5, 1.25)}
    )


def _of(address: str) -> DescribedFeatures:
    world = environment(address).world
    assert world is not None
    return world.features


def questions() -> Iterator[MomentsQuestion]:
    """Of one step and of several, pooled and per step, with a block for each action and with one for all."""
    yield MomentsQuestion.of(_of("linear-bandit/2x3?seed=0"), 1)
    yield MomentsQuestion.of(_of("covariates/2?seed=0"), 2, "per-step")
    yield MomentsQuestion.of(shop(), 4)
    yield MomentsQuestion.of(shop(), 1)


def designs() -> Iterator[Design]:
    """Local designs of both mechanisms, and one in the other currency."""
    asked = list(questions())
    for promise, mechanism, told in (
        (Local(epsilon=4.0), "privunit", asked),
        (Local(rho=0.5), "gaussian", asked),
        (Local(2.0, 1e-6), "gaussian", asked[:1]),
    ):
        for question in told:
            yield make(Request(question, promise, Schedule.every(1000), mechanism=mechanism))


def contracts() -> Iterator[Contract]:
    """Contracts with devices that tell moments."""
    for design in designs():
        yield plain_contract(design, learner=LEARNER)


def shuffled() -> Iterator[Contract]:
    """Contracts whose devices add shares of noise, in batches that widen: of one step and of several."""
    for question in list(questions())[:2]:
        promise = Guarantee(SHUFFLE, 1.0, 1e-6)
        yield contract_of(
            make(request_for(question, promise, 6000, shuffling={"batch": 40, "widening": True}, mechanism="skellam"))
        )


def curated() -> Iterator[Contract]:
    """Contracts with a curator who computes them."""
    for question in questions():
        yield contract_of(make(Request(question, Guarantee(JOINT, 1.0, 1e-6), Schedule.batches(60, 3))))


def lived(question: MomentsQuestion, rng: np.random.Generator, steps: int) -> ObservedEpisodes:
    """An episode with observations from all over the ranges."""
    features = question.features
    seen = features.cloud[rng.integers(len(features.cloud), size=steps + (steps > 0 and not question.single))]
    return ObservedEpisodes.single(
        seen.reshape(-1, len(features.inputs)), rng.integers(features.actions, size=steps), rng.random(steps)
    )


def _told(episode: ObservedEpisodes) -> dict[str, Any]:
    return {
        "states": episode.observations[0].tolist(),
        "actions": episode.actions[0].tolist(),
        "rewards": episode.rewards[0].tolist(),
    }


def _described(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Observations, their numbers, and features of every action; and what no description knows."""
    results = []
    for features in (shop(), _of("covariates/2?seed=0"), _of("linear-bandit/2x3?seed=0")):
        rows = []
        for row in features.cloud[rng.integers(len(features.cloud), size=8)]:
            many = np.repeat(row[None], features.actions, axis=0)
            x = features.x(many, np.arange(features.actions))
            observed = features.decode(row)
            rows.append(
                {"observed": observed, "row": row.tolist(), "x": x.tolist(), "psi": features.psi(row[None])[0].tolist()}
            )
        beyond = {name: 1e9 if isinstance(value, float) else value for name, value in observed.items()}
        first = next(iter(observed))
        strange = [{}, {**observed, "more": 1.0}, {**observed, first: "of no use"}, {**observed, first: None}, 7, None]
        results.append(
            {
                "features": features.plain(),
                "rows": rows,
                "beyond": {"observed": beyond, "row": features.encode(beyond).tolist()},
                "strange": strange,
            }
        )
    return results


def _reported(made: Contract, rng: np.random.Generator) -> dict[str, Any]:
    design = made.design
    question = design.question
    assert isinstance(question, MomentsQuestion)
    low, high = limits(design)
    episodes = []
    for steps in [0, *(question.horizon,) * EPISODES]:
        episode = lived(question, rng, steps)
        episodes.append({**_told(episode), "cells": moments_of_each(question, episode)[0].tolist()})
    some = rng.integers(low, high + 1)
    messages = [
        {
            "row": 0,
            "cells": cells.tolist(),
            "bytes": Report(design.digest, question.digest, cells).to_bytes(design).hex(),
        }
        for cells in (high, some)
    ]
    loss = {"epsilon": design.mechanism.epsilon} if isinstance(design.mechanism, PrivUnit) else {}
    if isinstance(design.mechanism, Gaussian):
        price = question.price(design.mechanism.grid)
        loss = {"rho": price.l2**2 / (2 * design.mechanism.sigma**2)}
    return {
        "contract": made.data.decode(),
        "length": report_length(design),
        "loss": loss,
        "low": low.tolist(),
        "high": high.tolist(),
        "episodes": episodes,
        "messages": messages,
    }


def _units(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Directions, the order in which they are favoured, and the messages that each of them would be."""
    results = []
    for vector, bound, candidates in ((3, 1.0, 8), (12, 2.5, 16)):
        unit = PrivUnit.best(1.5, vector, bound, candidates)
        directions, coins = rng.standard_normal((candidates, unit.dimension)), rng.random(vector)
        directions[1] = directions[0]  # of equals the first
        for size in (0.3, 1.0, 3.0):
            cells = np.rint(size * bound / vector * rng.standard_normal(vector) / unit.grid).astype(np.int64)
            messages = [
                np.rint(unit._rounded(unit.length / np.sqrt(each @ each) * each[:-1], coins) / unit.grid).astype(
                    np.int64
                )
                for each in directions
            ]
            results.append(
                {
                    "unit": unit.describe(),
                    "directions": directions.tolist(),
                    "coins": coins.tolist(),
                    "cells": cells.tolist(),
                    "order": unit.ranked(directions, cells * unit.grid).tolist(),
                    "messages": [each.tolist() for each in messages],
                }
            )
    return results


def _policies(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Weights as they are published, and what those who follow them do."""
    results = []
    for made in curated():
        features, horizon = made.described, made.design.question.spec.horizon
        assert features is not None
        shape = (horizon, features.blocks, features.dimension)
        policies = [FeaturePolicy(features, rng.standard_normal(shape)) for _ in range(2)]
        rows = features.cloud[:6]
        chosen = [
            [
                features.scores(features.all_x(rows), each.weights[step]).argsort(axis=1)[:, ::-1].tolist()
                for step in range(horizon)
            ]
            for each in policies
        ]
        data = published(policies)
        results.append(
            {"contract": made.data.decode(), "bytes": data.hex(), "rows": rows.tolist(), "best_first": chosen}
        )
    return results


def _handed(rng: np.random.Generator) -> list[dict[str, Any]]:
    """What curators get: tickets with episodes of every length."""
    results = []
    for made in curated():
        question, rows = made.design.question, []
        assert isinstance(question, MomentsQuestion)
        for steps in range(question.horizon + 1):
            ticket = Ticket(made.digest, 1, steps, 1).issued(bytes(32)).to_bytes()
            episode = lived(question, rng, steps)
            rows.append(
                {"ticket": ticket.hex(), **_told(episode), "bytes": parcel(ticket, handed(episode, question)).hex()}
            )
        results.append({"contract": made.data.decode(), "parcels": rows})
    return results


def vectors() -> dict[str, Any]:
    """All of it; the same every time."""
    rng = np.random.default_rng(SEED)
    return {
        "described": _described(rng),
        "reported": [_reported(made, rng) for made in (*contracts(), *shuffled())],
        "units": _units(rng),
        "policies": _policies(rng),
        "handed": _handed(rng),
    }
