"""Public vocabulary comes out of this room: sizes, models, policies. Nothing in it is anybody's data."""

from .features import MixtureFeatures
from .model import Model
from .policy import AS_NOW, Policy
from .spec import PER_STEP, STATIONARY, Spec

__all__ = ["AS_NOW", "PER_STEP", "STATIONARY", "MixtureFeatures", "Model", "Policy", "Spec"]
