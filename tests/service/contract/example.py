"""A small contract, made without a learner."""

from __future__ import annotations

import json
from typing import Any

from confide.mdp import Spec
from confide.privacy import Guarantee, Local, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.service.contract import Contract, Upload, keys

SPEC = Spec(3, 2, 4)
PRIVATE = bytes(range(32))
TEACHER = {"name": "ucbvi", "options": {}, "failure": 0.1, "bonus_scale": 1.0}


def design(
    promise: Guarantee | None = None,
    people: int = 30,
    rounds: int = 3,
    spec: Spec = SPEC,
    mechanism: str = "k-ary",
) -> Design:
    return make(
        Request(CountQuestion(spec), promise or Local(4.0), Schedule.batches(people, rounds), mechanism=mechanism)
    )


def contract(of: Design | None = None, **changes: Any) -> Contract:
    options = {"name": "tea", "operator": "Tea Ltd", "key": keys.public_key(PRIVATE), "learner": TEACHER, **changes}
    return Contract.written(of or design(), **options)


def changed(made: Contract, **changes: Any) -> bytes:
    """The bytes of a contract that says something else."""
    return json.dumps({**made.document, **changes}).encode()


def letter(made: Contract, number: int, bucket: int = 0, followed: int = 1) -> bytes:
    """A submission whose report names a bucket; its id is made from a number."""
    import numpy as np

    from confide.protocol.releases import Report

    cells = np.zeros(made.design.question.width, dtype=np.int64)
    cells[bucket] = 1
    report = Report(made.design.digest, made.design.question.digest, cells).to_bytes(made.design)
    return Upload(number.to_bytes(16, "little"), made.digest, followed, report).to_bytes()
