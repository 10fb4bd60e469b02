"""Mutants of printed formulas: each one wrong constant, which a number worked out by hand must notice."""

from __future__ import annotations

from .planted import Mutant

BY_HAND = ("tests/designs/test_papers.py",)
WIDTH = "A width or a bonus is made from what was released: no output is less private for it."


def wrong(what: str, file: str, old: str, new: str) -> Mutant:
    """A wrong constant."""
    return Mutant(what, file, old, new, BY_HAND, unseen=WIDTH)


MUTANTS = (
    wrong(
        "PRIVATE-UCB: E has sqrt(4) for sqrt(8)",
        "designs/papers.py",
        "noise * np.sqrt(8 * growth(episodes) * log)",
        "noise * np.sqrt(4 * growth(episodes) * log)",
    ),
    wrong(
        "PRIVATE-UCB: log K for log T",
        "designs/papers.py",
        "first, second = _logs(spec, 6 * episodes * spec.horizon, failure)",
        "first, second = _logs(spec, 6 * episodes, failure)",
    ),
    wrong(
        "PUCB: log(K) to the power 2 for 5/2",
        "designs/papers.py",
        "max(math.log2(episodes), 1.0) ** 1.5",
        "max(math.log2(episodes), 1.0) ** 1.0",
    ),
    wrong(
        "LDP-OBI, Prop. 8: sqrt(5) for sqrt(8) in c_1 and c_2",
        "designs/papers.py",
        "visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(8 * first) * noise",
        "visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(5 * first) * noise",
    ),
    wrong(
        "LDP-OBI, Prop. 8: sqrt(5) for sqrt(8) in c_3",
        "designs/papers.py",
        "rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(8 * second) * noise",
        "rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(5 * second) * noise",
    ),
    wrong(
        "LDP-OBI, Prop. 8: c_4 = c_3/S",
        "designs/papers.py",
        "return _same(visits, rows / math.sqrt(spec.states), rows)",
        "return _same(visits, rows / spec.states, rows)",
    ),
    wrong(
        "SHUFFLED-OBI, eq. (7): the first term is gone",
        "designs/shuffled_obi.py",
        "visits = first + np.sqrt(users * bits) / (1 - p)",
        "visits = np.sqrt(users * bits) / (1 - p)",
    ),
    wrong(
        "SHUFFLED-OBI, eq. (8): the extra term is gone",
        "designs/shuffled_obi.py",
        "rewards = np.sqrt(2 * spec.horizon * k * (log + math.log(2))) + np.sqrt(k * bits)",
        "rewards = np.sqrt(k * bits)",
    ),
    wrong(
        "DP-VAPVI: D/K is gone",
        "learners/vapvi.py",
        "size * self._remainder(fitted, release) / people",
        "0.0 * self._remainder(fitted, release) / people",
    ),
    wrong(
        "DP-VAPVI: matrices are shifted by E instead of E/2",
        "planning/regression.py",
        "return noise * math.sqrt(2 * size) * (2 + tail)",
        "return 2 * noise * math.sqrt(2 * size) * (2 + tail)",
    ),
)
