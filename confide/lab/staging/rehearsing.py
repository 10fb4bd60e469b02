"""A rehearsal: what a simulation of exactly a contract loses, with users who keep arriving while a batch waits.

Users arrive evenly, all of them within `days`. Under trust local a policy is published within moments of the report that closes
its round. A shuffler's or curator's batch closes a deadline after its last ticket, and its policy is published a while later;
a user who arrives meanwhile takes a ticket of the next batch, and follows the newest policy that was published. Every user who has
a ticket reports. Sums of a shuffler are closed into releases by the collector's own code.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers import open_aggregate
from ...errors import InvalidInput
from ...service.collector.adapters import MIXTURE
from ...service.collector.rounds import close_round, empty_sum
from ...service.contract.contract import Contract
from ..environments.registry import resolve
from ..simulation import Setting, prepare, run
from ..simulation.batched import group_drawing
from ..simulation.streams import root_of, streams

DAYS = 30.0
"""Within how many days every user arrives, unless something else is said."""
SECONDS = 86400.0


class RehearsedContract(NamedTuple):
    """regret: (seeds,) of all users. at_random: what they would lose by acting at random. needed: how many are, at least."""

    environment: str
    users: int
    regret: NDArray[np.float64]
    at_random: float
    needed: float


def rehearse(
    contract: Contract, environment: str = "", seeds: int = 20, seed: int = 0, days: float = DAYS
) -> RehearsedContract:
    """Simulate a contract in a world of its sizes: by default a random one."""
    setting = setting_of(contract, environment, seeds, seed)
    uniform = np.full_like(setting.begin(np.random.default_rng(0)).policy, 1 / setting.context.spec.actions)
    users = setting.schedule.users
    if contract.intermediary is None:
        regret = run(setting).regret[:, -1]
    else:
        batches, full = batches_of(contract, validation.positive("days", days))
        regret = np.array([_played(setting, contract, batches, full, root_of(seed, index)) for index in range(seeds)])
    lost = users * (setting.optimal_value - setting.value_of(uniform))
    return RehearsedContract(setting.environment.address, users, regret, lost, setting.episodes_needed)


def setting_of(contract: Contract, environment: str = "", seeds: int = 20, seed: int = 0) -> Setting:
    """The setting of a simulation whose design is the contract's, in a world of the same sizes."""
    design, learner = contract.design, contract.document["learner"]
    spec = design.question.spec
    if design.question.kind == MIXTURE:
        raise InvalidInput(
            "rehearsal-of-mixture", "A contract about linear mixtures is not rehearsed. Simulate ucrl-vtr in its world."
        )
    world = resolve(environment or f"random/{spec.states}x{spec.actions}", spec.horizon, spec.dynamics)
    if world.spec != spec:
        raise InvalidInput(
            "rehearsal-world-sizes",
            f"{world.address} has {world.spec.states} states and {world.spec.actions} actions; the contract has {spec.states} "
            f"and {spec.actions}. Choose a world of these sizes.",
        )
    choices = {"failure": learner["failure"], "bonus_scale": learner["bonus_scale"], **learner["options"]}
    setting = prepare(learner["name"], world, design.requested, contract.expected, seeds=seeds, seed=seed, **choices)
    return replace(setting, design=design, schedule=design.schedule.until(contract.expected))


class Followers(NamedTuple):
    """Users of a batch who follow one policy: how many, and how many batches it was learned from."""

    users: int
    before: int


def batches_of(contract: Contract, days: float) -> tuple[list[list[Followers]], int]:
    """The users of each batch, who arrive evenly within this many days, by the policy that they follow; and how many batches are
    filled, and so close: the last may stay open.
    """
    about, users = contract.intermediary, contract.expected
    assert about is not None
    tickets = np.array([contract.tickets(number) for number in range(1, len(contract.ends) + 1)])
    ends = np.cumsum(tickets)
    full = int((ends <= users).sum())
    ends = np.append(ends[ends < users], users)
    pace = users / (days * SECONDS)
    # The user who comes after this many others comes at others/pace; so who follows the policy after j batches is known.
    first = np.ceil(ends[:full] + (about.deadline + about.publication) * pace - 1e-9).astype(np.int64)
    cuts = np.unique(np.concatenate([[0], ends, first[first < users]]))
    batches: list[list[Followers]] = [[] for _ in ends]
    for start, end in pairwise(cuts.tolist()):
        batch = int(np.searchsorted(ends, start, side="right"))
        batches[batch].append(Followers(end - start, int(np.searchsorted(first, start, side="right"))))
    return batches, full


def _played(
    setting: Setting, contract: Contract, batches: list[list[Followers]], full: int, root: np.random.SeedSequence
) -> float:
    """The regret of every user, for one seed."""
    rng, learner, design = streams(root), setting.learner, setting.design
    draw_sums = group_drawing(setting, rng.world, rng.noise)
    state = setting.begin(rng.policy)
    states, values, lost = [state], [setting.value_of_all(state.policies)], 0.0
    aggregate: Any = None if design.mixing is not None else open_aggregate(design, rng.replayable, simulated=True)
    total = empty_sum(design) if aggregate is None else b""
    for number, groups in enumerate(batches):
        lost += sum(users * (setting.optimal_value - values[before]) for users, before in groups)
        if number >= full:
            break
        sums: list[Any] = []
        for users, before in groups:
            question = design.question.member_for(learner.ask(states[before]))
            sums += draw_sums(question, states[before].policies, users, number)
        if aggregate is None:
            for other in sums[1:]:
                sums[0].merge(other)
            total, release = close_round(design, total, sums[0].to_bytes())
        else:
            for each in sums:
                aggregate.take_sum(each)
            release = aggregate.close(design.question)
        state = learner.learn(state, release)
        states.append(state)
        values.append(setting.value_of_all(state.policies))
    return lost
