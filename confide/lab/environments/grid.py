"""A slippery grid to cross, from one corner to the opposite one."""

from __future__ import annotations

from ... import validation
from ...mdp import Model, Spec
from .registry import blank, register, start_in

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left."""

SLIP = 0.1
"""The chance to slip to each side of where one meant to go."""


@register("grid", example="grid/4x5", horizon=lambda rows, columns: 2 * (rows + columns))
def grid(rows: int, columns: int, horizon: int) -> Model:
    """Cross a slippery grid from one corner to the opposite one, which holds you and pays 1 a step.

    A move goes where it was meant to with probability .8 and to each side of that with .1; walls hold you in place.
    """
    if rows * columns < 2:
        raise validation.refusal(
            "grid-too-small", "grid", "of at least two cells", f"{rows}x{columns}", "Write 'grid/4x5', for example."
        )
    spec = Spec(rows * columns, len(MOVES), horizon)
    transitions, rewards = blank(spec)
    goal = spec.states - 1
    for state in range(goal):
        row, column = divmod(state, columns)
        for action in range(len(MOVES)):
            for turn, chance in ((0, 1 - 2 * SLIP), (1, SLIP), (-1, SLIP)):
                down, right = MOVES[(action + turn) % len(MOVES)]
                landed = min(max(row + down, 0), rows - 1) * columns + min(max(column + right, 0), columns - 1)
                transitions[0, state, action, landed] += chance
    transitions[0, goal, :, goal] = rewards[0, goal, :] = 1.0
    return Model(transitions, rewards, start_in(0, spec.states), horizon)
