"""Public vocabulary comes out of this room: sizes, models, policies. Nothing in it is anybody's data."""

from .features import MixtureFeatures
from .model import Model
from .policy import Policy
from .spec import PER_STEP, STATIONARY, Spec

__all__ = ["PER_STEP", "STATIONARY", "MixtureFeatures", "Model", "Policy", "Spec"]
