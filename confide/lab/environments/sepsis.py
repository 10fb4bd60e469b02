"""Treating sepsis: the ICU-Sepsis world of Choudhary, Gupta and Thomas (2024), estimated from MIMIC-III."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...errors import MissingExtra, install
from ...mdp import Model, Policy
from .registry import register


@register("icu-sepsis", horizon=20)
def icu_sepsis(horizon: int) -> Model:
    """Treat a patient with sepsis in intensive care, 716 states and 25 doses; survival pays 1.

    An action that doctors rarely took does what their usual ones do on average. After the end nothing is paid.
    """
    with np.load(_tables()) as tables:
        transitions, paid, initial = tables["tx_mat"], tables["r_mat"], tables["d_0"]
    rewards = np.einsum("san,san->sa", transitions, paid)
    return Model(transitions[None], np.clip(rewards, 0, 1)[None], initial, horizon)


def practice(horizon: int) -> Policy:
    """The policy of the clinicians, at every step; states where nothing is done any more have the first action."""
    with np.load(_tables()) as tables:
        chosen = tables["expert_policy"]
    total = chosen.sum(axis=1, keepdims=True)
    nothing = np.eye(chosen.shape[1])[:1]
    table = np.where(total > 0, chosen / np.where(total > 0, total, 1.0), nothing)
    return Policy(np.repeat(table[None], horizon, axis=0))


def _tables() -> Path:
    # The package itself is not imported: doing so would load, and advertise, libraries that are not needed here. Nor is
    # its place taken from its name alone, which a file of yours may have too.
    missing = MissingExtra("icu-sepsis-missing", f"icu-sepsis must be installed. It was not found. {install('icu')}")
    if find_spec("icu_sepsis") is None:
        raise missing
    try:
        path = Path(str(metadata.distribution("icu-sepsis").locate_file("icu_sepsis/envs/assets/dynamics.npz")))
    except metadata.PackageNotFoundError:
        raise missing from None
    if not path.is_file():
        raise missing
    return path
