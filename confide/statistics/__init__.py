"""Counts of one person's episode come out of this room, with how far one person can move them."""

from .sensitivity import sensitivity
from .tabular import admit, count, round_rewards

__all__ = ["admit", "count", "round_rewards", "sensitivity"]
