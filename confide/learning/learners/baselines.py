"""Published algorithms by the names of their papers: each is a learner with choices that make it that algorithm.

An address names a learner, or one of these, with what is chosen of it: `private-ucb-vi`, `private-ucb-vi/paper`,
`ucbvi?bonus=bernstein`, `obi/sound?alpha=2`. After the slash stands a calibration: `sound`, the default of a published private
algorithm, raises its noise until the guarantee it claims is true; `paper` has its noise as printed, and the certificate says what
that keeps; `tight` is ours. After the question mark stand options of the learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import validation
from ...errors import InvalidInput
from ...mdp import PER_STEP
from ...mdp.address import Address
from ...privacy.guarantee import JOINT, LOCAL, NONE, SHUFFLE
from ...protocol.design import PAPER, SOUND, TIGHT
from ...validation import Json
from . import catalogue


@dataclass(frozen=True)
class Baseline:
    """A published algorithm: the learner, its options, other choices by default, and the trust models it is stated for."""

    learner: str
    source: str
    trusts: tuple[str, ...]
    choices: Mapping[str, Any] = field(default_factory=lambda: {"calibration": SOUND})
    options: Mapping[str, Json] = field(default_factory=dict)


_UCB = "Chowdhury and Zhou (2022), Differentially Private Regret Minimization in Episodic MDPs"
_LDP = "Garcelon, Perchet, Pike-Burke and Pirotta (2021), Local Differential Privacy for Regret Minimization in RL"
BASELINES: dict[str, Baseline] = {
    "ucb-vi": Baseline(
        "ucbvi",
        "Azar, Osband and Munos (2017), Minimax Regret Bounds for Reinforcement Learning",
        (NONE,),
        {},
        {"bonus": "bernstein"},
    ),
    "optimistic-q": Baseline(
        "q-learning",
        "Jin, Allen-Zhu, Bubeck and Jordan (2018), Is Q-learning Provably Efficient?",
        (NONE,),
        {"model": PER_STEP, "schedule": "every"},
    ),
    "private-ucb-vi": Baseline("ucbvi", _UCB, (NONE, JOINT, LOCAL)),
    "private-ucb-po": Baseline("po", _UCB, (NONE, JOINT, LOCAL)),
    "dp-ucbvi": Baseline(
        "ucbvi",
        "Qiao and Wang (2023), Near-Optimal Differentially Private Reinforcement Learning",
        (NONE, JOINT, LOCAL),
        options={"bonus": "dp-bernstein"},
    ),
    "ldp-obi": Baseline("obi", _LDP, (NONE, LOCAL)),
    "ldp-psrl": Baseline("psrl", _LDP, (NONE, LOCAL)),
    "shuffled-obi": Baseline(
        "obi",
        "Garcelon et al. (2021), Bridging the Gap between Local and Joint Differential Privacy in RL",
        (NONE, SHUFFLE),
    ),
    "sdp-pe": Baseline(
        "policy-elimination",
        "Bai, Talebi, Zhao, Cheng and Chen (2024), Near-Optimal Reinforcement Learning with Shuffle Differential Privacy",
        (NONE, SHUFFLE),
        {"calibration": SOUND, "mechanism": "shuffled-bits"},
    ),
    "ldp-ucrl-vtr": Baseline(
        "ucrl-vtr", "Liao, He and Gu (2021), Locally Differentially Private RL for Linear Mixture MDPs", (NONE, LOCAL)
    ),
}


@dataclass(frozen=True)
class ChosenLearner:
    """What an address stands for: the name of a learner, its options, and other choices that it makes."""

    name: str
    options: Mapping[str, Json]
    choices: Mapping[str, Any]


def resolve(address: str, trust: str) -> ChosenLearner:
    """The learner that an address names, under a trust model; refused if its paper is about another one."""
    parts = Address.read(address)
    if parts.mark == ":":
        raise InvalidInput(
            "learner-address-form",
            f"A learner's address is NAME, NAME/CALIBRATION or NAME?option=value. Got {address!r}.",
        )
    choices = (
        {} if not parts.rest else {"calibration": validation.choice("calibration", parts.rest, (PAPER, SOUND, TIGHT))}
    )
    if parts.name not in BASELINES:
        return ChosenLearner(parts.name, parts.options, choices)
    found = BASELINES[parts.name]
    if trust not in found.trusts:
        stated = " or ".join(found.trusts)
        raise InvalidInput(
            "baseline-trust",
            f"{parts.name} is stated for trust {stated}. Got {trust}. Say --trust {found.trusts[-1]}, or take the learner "
            f"{found.learner!r}, which is.",
        )
    return ChosenLearner(found.learner, {**found.options, **parts.options}, {**found.choices, **choices})


def names() -> list[str]:
    """Every name that an address may begin with."""
    return sorted({*catalogue.names(), *BASELINES})
