"""The arrays of a saved policy: what it does, what it is surely worth, and what was public beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import Policy, Spec
from ...mdp.critic import Critic, VectorPolicy
from ...mdp.knowledge import Knowledge
from ...mdp.linear import BlockFeatures, LinearFeatures

Table = NDArray[np.float64]


def arrays_of(
    policy: Policy | VectorPolicy, values: Table | None, knowledge: Knowledge, features: LinearFeatures | None
) -> dict[str, NDArray[Any]]:
    """The arrays of a policy, by the names under which they are saved.

    A policy for vectors: weights (H, B, d), doubt (H, B, d, d) and numbers (H, 4) of its critics, and its features.
    """
    arrays = _tables(knowledge)
    if features is not None:
        arrays |= {"phi": features.phi, "bound": np.array(features.bound)}
    if isinstance(policy, VectorPolicy):
        weights, doubt, numbers = (
            np.array(critic) for critic in zip(*(critic.arrays() for critic in policy.critics), strict=True)
        )
        features_of = policy.features
        shape = np.array(
            [features_of.width, features_of.bound, features_of.intercept, features_of.clip], dtype=np.float64
        )
        return {**arrays, "weights": weights, "doubt": doubt, "numbers": numbers, "vectors": shape}
    if policy.as_now is not None:
        arrays["as_now"] = policy.as_now
    return {**arrays, "probabilities": policy.probabilities, "values": np.asarray(values)}


def read_arrays(
    stored: Any, config: dict[str, Any]
) -> tuple[Policy | VectorPolicy, Table | None, Knowledge, LinearFeatures | None]:
    """The policy, values, knowledge and features that `arrays_of` saved."""
    features = LinearFeatures(stored["phi"], float(stored["bound"])) if "phi" in stored.files else None
    if "vectors" in stored.files:
        width, bound, intercept, clip = validation.array("vectors", stored["vectors"], (4,)).tolist()
        block = BlockFeatures(int(config["actions"]), int(width), bound, bool(intercept), bool(clip))
        rows = zip(stored["weights"], stored["doubt"], stored["numbers"], strict=True)
        critics = tuple(Critic.of(*row).checked(block.blocks, block.dimension) for row in rows)
        spec = Spec(1, block.actions, len(critics), config["model"])
        return VectorPolicy(block, critics), None, _knowledge(stored, spec, config), features
    policy = Policy(stored["probabilities"], stored["as_now"] if "as_now" in stored.files else None)
    horizon, states, actions = policy.probabilities.shape
    values = validation.array("values", stored["values"], (horizon + 1, states))
    return policy, values, _knowledge(stored, Spec(states, actions, horizon, config["model"]), config), features


def _tables(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """The public tables, over the declared states."""
    states = knowledge.states
    tables: dict[str, NDArray[Any]] = {
        "support": np.packbits(knowledge.support[:states]),
        "allowed": knowledge.allowed[:states],
    }
    if knowledge.rewards is not None:
        tables["rewards"] = knowledge.rewards[:, :states]
    if knowledge.initial is not None:
        tables["initial"] = knowledge.initial[:states]
    if knowledge.returns is not None:
        tables["returns"] = np.array(knowledge.returns)
    return tables


def _knowledge(stored: Any, spec: Spec, config: dict[str, Any]) -> Knowledge:
    ends = bool(config["ends"])
    shape = (spec.states, spec.actions, spec.states + ends)
    bits = None
    if spec.horizon > 1:  # after a single step there is nothing to say
        bits = np.unpackbits(stored["support"], count=int(np.prod(shape))).reshape(shape).astype(np.bool_)
    rewards = stored["rewards"] if "rewards" in stored.files else None
    if rewards is not None and len(rewards) == 1:
        rewards = rewards[0]
    initial = stored["initial"] if "initial" in stored.files else None
    returns = tuple(validation.array("returns", stored["returns"], (2,))) if "returns" in stored.files else None
    return Knowledge.declared(spec, bits, stored["allowed"], rewards, initial, ends, config["end_reward"], returns)
