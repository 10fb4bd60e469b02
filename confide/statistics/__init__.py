"""Numbers about one person's episode come out of this room: counts, categories and sums, as a question asks for them."""

from .answers import answer
from .tabular import admit, count, round_rewards

__all__ = ["admit", "answer", "count", "round_rewards"]
