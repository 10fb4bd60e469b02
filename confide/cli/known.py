"""Reads what is publicly known of a linear mixture: rewards and features, from a file or a named world."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import InvalidInput
from ..lab.environments import make
from ..mdp import MixtureFeatures

SIZES = ("horizon", "states", "actions")


def read_known(arguments: dict[str, Any]) -> tuple[MixtureFeatures | None, Any]:
    """Features, if any, and rewards (H, S, A) that `--known` names; sizes that were not given are filled in from them."""
    name = arguments["known"]
    features, rewards = from_file(name) if Path(name).is_file() else from_world(name, arguments["horizon"])
    if rewards.ndim != len(SIZES):
        raise InvalidInput(
            "known-rewards-axes", f"rewards must have three axes: {', '.join(SIZES)}. Got {rewards.shape}."
        )
    for size, number in zip(SIZES, rewards.shape, strict=True):
        arguments[size] = arguments[size] or number
    return features, rewards


def from_world(name: str, horizon: int | None) -> tuple[MixtureFeatures | None, Any]:
    """Features and rewards of a world by its address."""
    world = make(name, horizon)
    if world.model is None:
        raise InvalidInput(
            "known-world-unknown", f"Nothing is known of {name}. Give a file with rewards, or another world."
        )
    return world.features, np.repeat(world.model.rewards, world.spec.horizon // len(world.model.rewards), axis=0)


def from_file(path: str) -> tuple[MixtureFeatures | None, Any]:
    """Features and rewards of an .npz file: `rewards`, and `features` (S, A, S, d) if they are not one-hot."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            tables = {name: np.asarray(arrays[name], dtype=np.float64) for name in arrays.files}
    except (OSError, ValueError, TypeError, AttributeError, BadZipFile) as error:
        raise InvalidInput("known-file-unreadable", f"{path} is not an .npz file of arrays: {error}.") from error
    if "rewards" not in tables or set(tables) - {"rewards", "features"}:
        raise InvalidInput(
            "known-file-content",
            f"{path} must hold rewards, and may hold features. It holds {', '.join(sorted(tables))}.",
        )
    features = tables.get("features")
    return None if features is None else MixtureFeatures.from_array(features), tables["rewards"]
