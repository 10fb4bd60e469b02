"""Treating sepsis: the ICU-Sepsis world of Choudhary, Gupta and Thomas (2024), estimated from MIMIC-III."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..errors import MissingExtra
from ..mdp import Model
from .registry import register


@register("icu-sepsis", horizon=20)
def icu_sepsis(horizon: int) -> Model:
    """Treat a patient with sepsis in intensive care, 716 states and 25 doses; survival pays 1.

    An action that doctors rarely took does what their usual ones do on average. After the end nothing is paid.
    """
    # the package itself is not imported: doing so would load, and advertise, libraries that are not needed here
    package = find_spec("icu_sepsis")
    path = Path(package.origin).parent / "envs" / "assets" / "dynamics.npz" if package and package.origin else None
    if path is None or not path.is_file():
        raise MissingExtra("icu-sepsis must be installed. It was not found. Run: pip install confide[icu]")
    with np.load(path) as tables:
        transitions, paid, initial = tables["tx_mat"], tables["r_mat"], tables["d_0"]
    rewards = np.einsum("san,san->sa", transitions, paid)
    return Model(transitions[None], np.clip(rewards, 0, 1)[None], initial, horizon)
