"""Environments: named worlds with a known model, or games that can only be played."""

from . import arms, chain, climb, clinic, grid, illness, linear_mdp, lower_bound, mixture, random_mdp, riverswim, sepsis  # noqa: F401 - importing them gives them their names
from . import covariates as covariates
from . import linear_bandit as linear_bandit
from . import operations as operations
from .gym import as_gymnasium, from_gymnasium
from .registry import Environment, EpisodeArrays, Listing, RewardScale, catalogue, make, names, register

__all__ = [
    "Environment",
    "EpisodeArrays",
    "Listing",
    "RewardScale",
    "as_gymnasium",
    "catalogue",
    "from_gymnasium",
    "make",
    "names",
    "register",
]
