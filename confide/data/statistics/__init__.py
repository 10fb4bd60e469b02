"""Numbers about one person's episode: counts, categories and sums, as a question asks for them."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .answers import answer
    from .tabular import admit, count, round_rewards

__all__ = ["admit", "answer", "count", "round_rewards"]

_HOMES = {
    "admit": "tabular",
    "answer": "answers",
    "count": "tabular",
    "round_rewards": "tabular",
}

__getattr__ = on_first_use(__name__, _HOMES)
