"""Writes js/test/golden.json, what the package does, for the device in JavaScript to do the same: python -m tests.js.golden"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from confide.data.statistics.answers import category, first_visit
from confide.data.statistics.tabular import count, counted_steps
from confide.data.trajectories import trajectory
from confide.data.trajectories.trajectory import Trajectory
from confide.errors import ConfideError
from confide.mdp import Spec
from confide.mechanisms.catalogue import parameters
from confide.mechanisms.plain import rational
from confide.privacy import GaussianLoss, Guarantee, Local, Pure, Schedule, rho_of
from confide.privacy.conversion import gaussian_delta
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.accepted import row_of
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, StepQuestion
from confide.protocol.kinds.asked import AskedQuestion
from confide.protocol.kinds.asked_return import returns_of
from confide.protocol.kinds.sensitivity import sensitivity
from confide.protocol.releases.report import Report, limits, report_length
from confide.protocol.trusts.mixing import Mixing
from confide.protocol.trusts.shuffle import local_guarantee
from confide.service.contract import Contract, Ticket, sealed, weaker
from confide.service.contract.encoding import to_base64
from confide.service.contract.tickets import parcel
from confide.service.contract.tokens import TokenRequest
from tests.protocol.combinations import combinations
from tests.service.contract import hpke
from tests.service.contract.example import contract as plain_contract
from tests.service.contract.hostile import unsound, written
from tests.service.intermediary.offices import BETWEEN, contract_of, joint_design, shuffle_design
from tests.service.issuer.issuers import ISSUER, KEY

from . import coming_again, featured

PATH = Path(__file__).parents[2] / "js" / "test" / "golden.json"
SEED = 17
PUBLIC = sealed.public_key(BETWEEN)

QUESTIONS = [
    (Spec(3, 2, 4), ("visits", "rewards", "transitions"), "counted", 1, "reward"),
    (Spec(3, 2, 4), ("centred", "transitions"), "counted", 3, "reward"),
    (Spec(3, 2, 4), ("centred", "transitions"), "dropped", 1, "cost"),
    (Spec(3, 2, 2), ("centred", "transitions"), "end", 4, "reward"),
    (Spec(2, 3, 1), ("centred", "transitions"), "counted", 1, "reward"),
    (Spec(2, 3, 1, "per-step"), ("visits", "rewards", "transitions"), "dropped", 1, "reward"),
    (Spec(2, 2, 5, "per-step"), ("visits", "rewards", "squares", "centred", "transitions"), "end", 2, "cost"),
    (Spec(2, 2, 5, "per-step"), ("centred", "transitions"), "counted", 1, "reward"),
    (Spec(2, 2, 5, "per-step"), ("centred", "transitions"), "end", 1, "reward"),
    (Spec(4, 3, 6, "per-step"), ("visits", "rewards", "transitions"), "dropped", 2, "reward"),
    (Spec(4, 3, 6), ("squares",), "counted", 5, "reward"),
    (Spec(5, 2, 3), ("visits", "squares", "transitions"), "end", 3, "cost"),
    (Spec(200, 2, 300), ("visits",), "counted", 1, "reward"),
]

DESIGNS = [
    (Spec(3, 2, 4), Local(epsilon=2.0), "unary", 1),
    (Spec(3, 2, 4, "per-step"), Local(epsilon=1.1), "unary", 1),
    (Spec(2, 2, 3), Local(epsilon=3.7), "k-ary", 1),
    (Spec(2, 2, 3, "per-step"), Local(epsilon=0.3), "k-ary", 1),
    (Spec(3, 2, 4), Local(epsilon=1.0), "laplace", 1),
    (Spec(3, 2, 4, "per-step"), Local(epsilon=0.01), "laplace", 3),
    (Spec(2, 2, 2), Local(epsilon=1e-8), "laplace", 1),
    (Spec(3, 2, 4), Local(epsilon=1.0, delta=1e-6), "gaussian", 1),
    (Spec(3, 2, 4, "per-step"), Local(epsilon=8.0, delta=1e-5), "gaussian", 2),
    (Spec(3, 2, 4), Local(rho=0.5), "gaussian", 1),
    (Spec(3, 2, 4), Local(epsilon=2.0, delta=1e-6), "laplace", 1),
    (Spec(3, 2, 4), Local(rho=0.7), "laplace", 1),
    (Spec(3, 2, 4), Local(epsilon=2.0), "randomised-response", 1),
    (Spec(3, 2, 4, "per-step"), Local(epsilon=5.0), "randomised-response", 1),
    (Spec(3, 2, 4), Local(epsilon=1.0), "subset", 1),
    (Spec(3, 2, 4, "per-step"), Local(epsilon=2.5), "subset", 1),
    (Spec(3, 2, 4), Local(epsilon=2.0), "asked-unary", 1),
    (Spec(9, 2, 4), Local(epsilon=1.0), "asked-subset", 1),
    (Spec(2, 2, 3, "per-step"), Local(epsilon=1.3), "asked-k-ary", 1),
]
RETURNING = [
    (Spec(2, 2, 4), Local(epsilon=2.0), "asked-unary", 10),
    (Spec(9, 2, 4), Local(epsilon=1.0), "asked-subset", 7),
    (Spec(2, 2, 3, "per-step"), Local(epsilon=1.3), "asked-k-ary", 2),
]
"""Designs by which one in this many reports a return."""


def designs() -> Iterator[Design]:
    """Local designs of every mechanism that a device in JavaScript knows."""
    for spec, promise, name, levels in DESIGNS:
        asked = CountQuestion(spec, levels=levels)
        yield make(Request(asked, promise, Schedule.every(1000), mechanism=name, budget=0))


def returning() -> Iterator[Design]:
    """Designs by which some report a return."""
    for spec, promise, name, one_in in RETURNING:
        yield make(Request(CountQuestion(spec), promise, Schedule.every(1000), mechanism=name, one_in=one_in))


def refused() -> Iterator[Design]:
    """Designs of which no contract is accepted: what was accepted once, and much that a page has the parts for."""
    yield from unsound().values()
    words = {
        "local": ("bits laplace", "step symmetric", "counts none"),
        "shuffle": ("counts shuffled-bits", "asked unary"),
        "joint": ("bits tree-gaussian", "bits buffered-toeplitz", "counts laplace"),
    }
    for design in combinations():
        if f"{row_of(design).kind} {row_of(design).mechanism}" in words[design.trust]:
            yield design


def long() -> Contract:
    """200 steps: counters of who stays are larger than a byte holds."""
    asked, promise = CountQuestion(Spec(2, 2, 200)), Guarantee(SHUFFLE, 1.0, 1e-6)
    request = Request(asked, promise, Schedule.sized(400, 400), mechanism="shuffled-bits", mixing=Mixing(400))
    return contract_of(make(request))


def widened() -> Contract:
    """Batches of 40, 80 and 160 people: 16 of the first size, then 8 of each."""
    asked, schedule = CountQuestion(Spec(3, 2, 4)), Schedule.doubling(40 * 64, 40)
    mixing = Mixing(40, 0.5, widening=True)
    return contract_of(make(Request(asked, Guarantee(SHUFFLE, 1.0, 1e-6), schedule, mixing=mixing)))


def shared(spec: Spec, share: float = 0.5, **choices: Any) -> Contract:
    """Counts with shares of Skellam noise, in batches that widen."""
    request = request_for(
        CountQuestion(spec), Guarantee(SHUFFLE, 1.0, 1e-6), 6000, shuffling={"honest": share}, **choices
    )
    return contract_of(make(request))


def ticketed() -> Iterator[Contract]:
    """Contracts whose devices take tickets: bits and steps to a shuffler, episodes to a curator."""
    for batch, model, bits, name in (
        (40, "stationary", 1, "auto"),
        (400, "per-step", 2, "auto"),
        (4000, "stationary", 1, "shuffled-step"),
    ):
        asked, schedule = CountQuestion(Spec(3, 2, 4, model)), Schedule.sized(3 * batch, batch)
        promise = Guarantee(SHUFFLE, 1.0, 1e-6)
        mixing = Mixing(batch, 0.5, reward_bits=bits)
        yield contract_of(make(Request(asked, promise, schedule, mechanism=name, mixing=mixing)))
    yield widened()
    yield shared(Spec(3, 2, 5))
    yield shared(Spec(2, 2, 12), 1.0, budget=30)
    yield shared(Spec(4, 3, 1))
    yield contract_of(joint_design())
    yield contract_of(joint_design(mechanism="tree-laplace", spec=Spec(2, 3, 5, "per-step")))
    ending = CountQuestion(Spec(3, 2, 4), last="end")
    yield contract_of(make(Request(ending, Guarantee(JOINT, 1.0, 1e-6), Schedule.batches(15, 3))))


def contract(design: Design, **changes: Any) -> dict[str, Any]:
    """The public contract about a design, as it is served."""
    spec, counts, asked = design.question.spec, design.question.counts, design.requested
    return {
        "schema": "confide.contract/1",
        "name": "tea",
        "version": 1,
        "spec": {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon, "model": spec.dynamics},
        "labels": {
            "states": [f"s{number}" for number in range(spec.states)],
            "actions": [f"a{number}" for number in range(spec.actions)],
        },
        "trust": asked.trust,
        "guarantee": {"epsilon": asked.epsilon, "delta": asked.delta, "rho": asked.rho},
        "question": {
            "kind": design.question.kind,
            "digest": design.question.digest.hex(),
            "parts": list(counts.parts),
            "last": counts.last,
            "levels": counts.levels,
            "objective": counts.objective,
            **({"one_in": returning.one_in} if (returning := returns_of(design)) else {}),
        },
        "mechanism": parameters(design.mechanism),
        "design": base64.b64encode(design.to_bytes()).decode(),
        "design_digest": design.digest.hex(),
        "schedule": {name: getattr(design.schedule, name) for name in ("kind", "users", "parameter", "burn_in")},
        "learner": {"name": "ucbvi", "options": {}},
        "reports_per_person": 1,
        "window": {"seconds": 0.0},
        "operator": "The tea company",
        "issuer": None,
        "key": base64.b64encode(bytes(32)).decode(),
        "successor": None,
        **changes,
    }


def walk(question: CountQuestion, rng: np.random.Generator, steps: int) -> tuple[Trajectory, np.ndarray]:
    """A random episode of this many steps, and its rewards as multiples of 1/levels."""
    spec = question.spec
    levels = rng.integers(0, question.levels + 1, steps)
    states = rng.integers(0, spec.states, steps + 1)
    return Trajectory(states, rng.integers(0, spec.actions, steps), levels / question.levels), levels


def _lived(trajectory: Trajectory) -> dict[str, Any]:
    return {name: getattr(trajectory, name).tolist() for name in ("states", "actions", "rewards")}


def _told(trajectory: Trajectory, levels: np.ndarray) -> dict[str, Any]:
    return {**_lived(trajectory), "earned": levels.tolist()}


def _question(fields: tuple[Any, ...], rng: np.random.Generator) -> dict[str, Any]:
    question = CountQuestion(*fields)
    spec, size = (
        question.spec,
        sensitivity(question) if "centred" not in fields[1] or "transitions" in fields[1] else None,
    )
    episodes = []
    for steps in sorted({0, 1, spec.horizon - 1, spec.horizon}):
        trajectory, levels = walk(question, rng, steps)
        cells = count(question, trajectory, levels)
        where = np.flatnonzero(cells)
        filled = [where.tolist(), cells[where].tolist()]
        episodes.append({**_told(trajectory, levels), "filled": filled})
        if question.last == "end" and steps:  # the state after the last step may be unknown
            cut = Trajectory(trajectory.states[:-1], trajectory.actions, trajectory.rewards)
            assert np.array_equal(count(question, cut, levels), cells)
            episodes.append({**_told(cut, levels), "filled": filled})
    return {
        "spec": {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon, "model": spec.dynamics},
        "question": {"kind": "counts", **dict(zip(("parts", "last", "levels", "objective"), fields[1:], strict=True))},
        "cells": question.cells,
        "resolution": question.resolution,
        "trials": question.trials[[where.start for where in question.slices.values()]].tolist(),
        "l1": None if size is None else size.l1,
        "l2": None if size is None else size.l2,
        "episodes": episodes,
    }


CATEGORIES = [
    (StepQuestion, Spec(3, 2, 4), "counted", "reward"),
    (StepQuestion, Spec(2, 3, 5, "per-step"), "end", "cost"),
    (StepQuestion, Spec(3, 4, 1), "dropped", "reward"),
    (AskedQuestion, Spec(3, 2, 6), "counted", "reward"),
    (AskedQuestion, Spec(2, 2, 5), "end", "cost"),
    (AskedQuestion, Spec(2, 2, 4, "per-step"), "end", "reward"),
    (AskedQuestion, Spec(2, 3, 3, "per-step"), "counted", "cost"),
]


def _categories(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Of every sampled step, or of every asked pair, of episodes of every length."""
    rows = []
    for kind, spec, last, objective in CATEGORIES:
        parts = ("centred", "halves" if last == "dropped" else "transitions")
        question = kind(CountQuestion(spec, parts, last, 1, objective))
        results = []
        for steps in range(spec.horizon + 1):
            trajectory, levels = walk(question.counts, rng, steps)
            if question.kind == "asked":
                items = [first_visit(question, trajectory, levels, row) for row in range(question.rows)]
            else:
                items = [category(question.counts, trajectory, levels, step) for step in range(spec.horizon)]
            results.append({**_told(trajectory, levels), "categories": items})
        rows.append(
            {
                "spec": {
                    "states": spec.states,
                    "actions": spec.actions,
                    "horizon": spec.horizon,
                    "model": spec.dynamics,
                },
                "question": {
                    "kind": question.kind,
                    "parts": list(parts),
                    "last": last,
                    "levels": 1,
                    "objective": objective,
                },
                "width": question.width,
                "rows": question.rows,
                "episodes": results,
            }
        )
    return rows


def _budgets(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Contracts with shares of noise: which steps of episodes a budget lets through, and the counts of these."""
    results = []
    for made in ticketed():
        question = made.design.question
        if made.design.trust != SHUFFLE or question.kind not in ("budgeted", "bandit"):
            continue
        episodes, counts = [], question.counts
        for steps in [0, *(counts.spec.horizon,) * 20]:
            trajectory, levels = walk(counts, rng, steps)
            kept = (
                counted_steps(question, trajectory) if question.kind == "budgeted" else np.ones(steps, dtype=np.bool_)
            )
            cells = count(counts, trajectory, levels, kept)
            episodes.append({**_told(trajectory, levels), "counted": kept.tolist(), "cells": cells.tolist()})
        results.append({"contract": made.data.decode(), "budget": question.budget, "episodes": episodes})
    return results


def _messages(design: Design, rng: np.random.Generator) -> list[tuple[int, np.ndarray]]:
    """Messages at the limits, and within them."""
    if returns_of(design):  # of a pair, then both bits of a return
        pairs, width = design.question.pairs, design.question.width
        about = replace(design, question=AskedQuestion(design.question.counts))
        bits = [np.eye(width, dtype=np.int64)[bit] for bit in range(2)]
        return [*_messages(about, rng)[:2], *((pairs, bit) for bit in bits)]
    low, high = limits(design)
    rows, width = design.question.rows, design.question.width
    if getattr(design.mechanism, "encoding", "") == "k-ary":
        return [
            (row, np.eye(width, dtype=np.int64)[at]) for row, at in ((0, 0), (rows - 1, width - 1), (0, width // 2))
        ]
    ones = getattr(design.mechanism, "ones", None)
    if ones is not None:
        first = np.arange(width) < ones
        return [(0, first.astype(np.int64)), (rows - 1, first[::-1].astype(np.int64))]
    small = np.clip(rng.integers(-3, 4, width), low, high)
    some = rng.integers(low, high + 1)
    results = [(0, low), (rows - 1, high), (0, small), (rows - 1, some), (0, np.clip(some // 300, low, high))]
    first = np.eye(width, dtype=np.int64)[0]
    edges = [edge * first for edge in (127, 128, -128, 32767, 32768) if low[0] <= edge <= high[0]]
    return [*results, *((0, cells) for cells in edges)]


def _bad(design: Design, good: bytes) -> list[str]:
    """Bytes that no honest device sends."""
    spoiled = [b"", good[:41], good[:-1], good + b"\0", b"cfr1" + good[4:]]
    for at, by in ((4, 1), (36, 128), (37, 1), (37, 8), (41, 128)):
        spoiled.append(good[:at] + bytes([good[at] ^ by]) + good[at + 1 :])
    packing, width = design.devices[0].packing, design.question.width
    if returns_of(design):  # of a return: another category, both bits, none
        bits = {"index": [width - 1], "bits": [4, 3, 0]}[packing]
        spoiled += [good[:42] + bit.to_bytes(len(good) - 42, "little") for bit in bits]
    elif packing == "index":
        spoiled.append(good[:42] + width.to_bytes(4, "little"))
    elif packing == "bits":
        spoiled.append(good[:-1] + bytes([good[-1] | 1 << (width % 8)]))
        if getattr(design.mechanism, "ones", None) is not None:  # one name more, and one less
            spoiled += [good[:43] + bytes([good[43] ^ 128]) + good[44:], good[:42] + bytes([good[42] ^ 1]) + good[43:]]
    else:
        low, high = limits(design)
        size, kind = (len(good) - 42) // width, good[37]
        for cells in (low - np.eye(width, dtype=np.int64)[0], high + np.eye(width, dtype=np.int64)[-1]):
            assert np.abs(cells).max() < 1 << 8 * size - 1
            spoiled.append(Report(design.digest, design.question.digest, cells).to_bytes(design))
        for other in {2, 3, 4, 5} - {kind}:  # the same numbers in another type, as they would be if their size decided
            numbers = np.clip(0, low, high).astype(f"<i{1 << other - 2}").tobytes()
            spoiled.append(good[:37] + bytes([other]) + good[38:42] + numbers)
    return [one.hex() for one in spoiled]


def _loss(design: Design) -> dict[str, float]:
    if design.trust == SHUFFLE:  # to the shuffler
        alone = local_guarantee(design)
        return {"epsilon": alone.pure_epsilon()} if alone.private else {}
    match design.act.loss:
        case Pure(value):
            return {"epsilon": value}
        case GaussianLoss(mu) as loss:
            return {"mu": mu, "rho": rho_of(loss) or 0.0}
    raise AssertionError(design.act.loss)


def _design(design: Design, text: str, rng: np.random.Generator) -> dict[str, Any]:
    low, high = limits(design)
    messages = []
    for row, cells in _messages(design, rng):
        data = Report(design.digest, design.question.digest, cells, row).to_bytes(design)
        assert np.array_equal(Report.from_bytes(data, design).cells, cells)
        messages.append({"row": row, "cells": cells.tolist(), "bytes": data.hex()})
    return {
        "contract": text,
        "length": report_length(design),
        "loss": _loss(design),
        "low": low.tolist(),
        "high": high.tolist(),
        "messages": messages,
        "bad": _bad(design, bytes.fromhex(messages[-1]["bytes"])),
    }


def _parcels(made: Contract, rng: np.random.Generator) -> dict[str, Any]:
    """Tickets, those that are none, and what curators get with them about episodes of every length."""
    spec, whole = made.design.question.spec, made.design.trust != SHUFFLE
    results = []
    for steps in range(spec.horizon + 1):
        widens = made.design.mixing is not None and made.design.mixing.widening
        batch = int(rng.integers(1, len(made.ends) + 1 if widens else 1 << 31))
        ticket = Ticket(made.digest, batch, steps, steps + 1).issued(bytes(32)).to_bytes()
        asked = made.design.question.counts
        lived, _ = walk(asked, rng, steps)
        if asked.last == "end" and steps % 2:  # the state after the last step may be unknown
            lived = Trajectory(lived.states[:-1], lived.actions, lived.rewards)
        body = parcel(ticket, trajectory.to_bytes(lived, spec)).hex() if whole else None
        fields = dict(zip(("batch", "round"), (Ticket.from_bytes(ticket).batch, steps + 1), strict=True))
        results.append({"ticket": ticket.hex(), **fields, **_lived(lived), "bytes": body})
    good = bytes.fromhex(results[0]["ticket"])
    bad = [b"", good[:-1], good + b"\0", b"cft2" + good[4:], good[:4] + bytes([good[4] ^ 1]) + good[5:]]
    return {"contract": made.data.decode(), "parcels": results, "bad": [one.hex() for one in bad]}


def _sealed(made: Contract, rng: np.random.Generator) -> dict[str, Any]:
    """Uploads and their sealed uploads, by an ephemeral key that a test chose; and the RFC's own vector."""
    parcels = [bytes.fromhex(one["bytes"]) for one in _parcels(made, rng)["parcels"]]
    rows = []
    for version, data in enumerate(parcels):
        opens, ephemeral = 1_700_000_000_123 + version, bytes([version + 1]) * 32
        head = data[:64] + sealed.FORM.pack(sealed.MAGIC, opens, version)
        body = head + hpke.encrypted(ephemeral, PUBLIC, sealed.CONTEXT + head, data[64:])
        mine = X25519PrivateKey.from_private_bytes(ephemeral).public_key().public_bytes_raw().hex()
        row = {"parcel": data.hex(), "opens": opens, "version": version, "private": ephemeral.hex(), "public": mine}
        rows.append({**row, "bytes": body.hex()})
    return {"contract": made.data.decode(), "key": PUBLIC.hex(), "uploads": rows, "rfc9180": hpke.A11}


def _sizes() -> dict[str, Any]:
    """By batch of a contract whose batches widen: its level, and a report to it."""
    made = widened()
    design, rows = made.design, []
    for batch in (1, 16, 17, 24, 25, 32):
        level = made.level(batch)
        assert [level] == [one.level for one in design.batches_of(batch - 1)]
        report = Report(design.digest, design.question.digest, limits(design, level)[1], 0, level)
        rows.append({"batch": batch, "level": level, "bytes": report.to_bytes(design).hex()})
    return {"contract": made.data.decode(), "batches": rows, "beyond": 33}


def _laws(rng: np.random.Generator, made: Iterable[Design]) -> list[dict[str, Any]]:
    """Laws of asked pairs, and bytes that are none."""
    results = []
    for design in made:
        if not design.kind.first_visits:
            continue
        question = design.question
        weights = rng.integers(0, 1 << 40, question.pairs)
        weights[0] = 0
        weights = question.law_about(weights)
        good = replace(question, weights=weights).law_bytes()
        head, zero, most = good[:20], bytes(8), (1 << 53).to_bytes(8, "little")
        bad = [
            b"",
            good[:-8],
            good + zero,
            b"cfa2" + good[4:],
            good[:4] + bytes([good[4] ^ 1]) + good[5:],
            head + zero * question.rows,
            head + (-1).to_bytes(8, "little", signed=True) + most + zero * (question.rows - 2),
            head + most + (1).to_bytes(8, "little") + zero * (question.rows - 2),
        ]
        if returns_of(design):  # another share of people reports a return
            bad.append(good[:-8] + (int(weights[-1]) + 1).to_bytes(8, "little"))
        for data in bad:
            with pytest.raises(ConfideError):
                question.from_bytes_of_member(data)
        text = json.dumps(contract(design))
        results.append(
            {"contract": text, "law": weights.tolist(), "bytes": good.hex(), "bad": [one.hex() for one in bad]}
        )
    return results


def successors() -> list[Contract]:
    """Contracts that differ in one thing that is compared before a device follows from one to another."""
    joint, shuffled = contract_of(joint_design()), contract_of(shuffle_design())
    key, other = {"intermediary": {**joint.document["intermediary"], "key": to_base64(bytes(32))}}, "Tea Ltd"
    local = [Local(1.0), Local(2.0), Local(1.0, 1e-6), Local(1.0, 1e-5), Local(rho=0.5)]
    return [
        *(
            plain_contract(make(Request(CountQuestion(Spec(2, 2, 2)), one, Schedule.every(100), budget=0)))
            for one in local
        ),
        plain_contract(window=3600.0),
        plain_contract(window=0.0),
        joint,
        contract_of(joint_design(), operator=other),
        Contract.from_bytes(json.dumps({**joint.document, **key}).encode()),
        shuffled,
        contract_of(shuffle_design(honest=0.9)),
        contract_of(shuffle_design(batch=40_000)),
        contract_of(shuffle_design(), operator=other),
    ]


def _successors() -> dict[str, Any]:
    """Contracts, and which of them is weaker (column) than which other (row)."""
    made = successors()
    table = [[bool(weaker(after, before)) for after in made] for before in made]
    return {"contracts": [one.data.decode() for one in made], "weaker": table}


def _tokens(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Of contracts that name an issuer: what is signed, what the issuer sees, and the token. d: the issuer's private exponent."""
    results = []
    local, (shuffled, *_) = next(designs()), ticketed()
    for made in (written_with_issuer(local), written_with_issuer(shuffled.design, intermediary=shuffled.intermediary)):
        checker = made.tokens
        assert checker is not None
        request = TokenRequest(rng.bytes(32), rng.bytes(48), int.from_bytes(rng.bytes(255)))
        blinded, modulus = request.blinded(checker), checker.key.modulus
        token = request.token(checker, KEY.sign(blinded))
        told = {"nonce": request.nonce, "salt": request.salt, "signed": checker.signed(request.nonce)}
        told.update(inverted=pow(request.factor, -1, modulus).to_bytes(256), blinded=blinded, token=token)
        texts = {name: value.hex() for name, value in told.items()}
        results.append({"contract": made.data.decode(), "n": f"{modulus:x}", "d": f"{KEY.exponent:x}", **texts})
    return results


def written_with_issuer(design: Design, **options: Any) -> Contract:
    """A contract that names the issuer of the tests."""
    window = 0.0 if not options else 50.0
    return plain_contract(design, issuer=ISSUER, window=window, **options)


def _weak() -> list[str]:
    """Contracts that do not keep what they guarantee, by a part in a million, or that no one can keep."""
    results = []
    for design in (*designs(), *returning()):
        given = contract(design)
        guarantee = dict(given["guarantee"])
        for name in ("epsilon", "delta", "rho"):
            guarantee[name] = guarantee[name] and guarantee[name] * (1 - 1e-6)
        results.append(json.dumps({**given, "guarantee": guarantee}))
        given["mechanism"] = dict(given["mechanism"])
        for name, by in (("scale", 1 - 1e-6), ("sigma", 1 - 1e-6), ("bit_epsilon", 1 + 1e-6), ("epsilon", 1 + 1e-6)):
            if name in given["mechanism"]:
                given["mechanism"][name] *= by
        results.append(json.dumps(given))
    return results


def _deltas(rng: np.random.Generator) -> list[list[float]]:
    pairs = [(0.2367, 1.0), (0.01, 0.05), (1.0, 0.0), (3.0, 1.0), (8.0, 20.0), (0.5, 0.1), (0.05, 0.01)]
    pairs += [(float(np.exp(rng.uniform(-4, 2))), float(np.exp(rng.uniform(-3, 3)))) for _ in range(200)]
    return [[mu, epsilon, found] for mu, epsilon in pairs if (found := gaussian_delta(mu, epsilon)) > 1e-30]


def _scales(rng: np.random.Generator) -> list[list[float]]:
    sizes = [1.0, 0.5, 1 / 3, 28.0, 1e-1, 1e6 + 0.5, 123456.789, *np.exp(rng.uniform(-2, 15, 50)).tolist()]
    return [[size, *(rational("laplace", size) or ())] for size in sizes]


def vectors() -> dict[str, Any]:
    """All of it; the same every time."""
    rng, own = np.random.default_rng(SEED), np.random.default_rng(SEED)
    return {
        "questions": [_question(fields, rng) for fields in QUESTIONS],
        "categories": _categories(rng),
        "designs": [
            *(_design(design, json.dumps(contract(design)), rng) for design in designs()),
            *(_design(design, json.dumps(contract(design)), own) for design in returning()),
        ],
        "weak": _weak(),
        "refused": [written(design).decode() for design in refused()],
        "long": {"contract": long().data.decode(), "length": report_length(long().design)},
        "deltas": _deltas(rng),
        "scales": _scales(rng),
        "shuffled": [_design(one.design, one.data.decode(), rng) for one in ticketed() if one.design.trust == SHUFFLE],
        "parcels": [_parcels(one, rng) for one in ticketed()],
        "sealed": _sealed(contract_of(joint_design(), sealing=PUBLIC), np.random.default_rng(SEED)),
        "sealed_reports": contract_of(shuffle_design(40), sealing=PUBLIC).data.decode(),
        "sizes": _sizes(),
        "budgets": _budgets(rng),
        "laws": [*_laws(rng, designs()), *_laws(own, returning())],
        "successors": _successors(),
        "tokens": _tokens(rng),
        "featured": featured.vectors(),
        "returning": coming_again.vectors(),
        "rfc9474": json.loads((PATH.parent / "rfc9474.json").read_text(encoding="ascii")),
    }


def text() -> str:
    """The file's."""
    return json.dumps(vectors(), separators=(",", ":")).replace('},{"', '},\n{"') + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
