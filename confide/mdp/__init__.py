"""Public vocabulary: sizes, models, policies. Nothing in it is any user's data."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .features import MixtureFeatures
    from .model import PER_STEP, STATIONARY, Model, Spec
    from .policy import CURRENT_PRACTICE, Policy

__all__ = ["CURRENT_PRACTICE", "PER_STEP", "STATIONARY", "MixtureFeatures", "Model", "Policy", "Spec"]

_HOMES = {
    "CURRENT_PRACTICE": "policy",
    "MixtureFeatures": "features",
    "Model": "model",
    "PER_STEP": "model",
    "Policy": "policy",
    "STATIONARY": "model",
    "Spec": "model",
}

__getattr__ = on_first_use(__name__, _HOMES)
