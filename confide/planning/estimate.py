"""From counts, which privacy may have made negative, fractional and inconsistent, to a model a planner can use."""

from __future__ import annotations

from ..compiled import compiled
from ..releases.release import Array, Counts
from .induction import Workspace


@compiled
def ratios(counts: Counts, more_visits: float, more_rows: float, own_rows: bool, work: Workspace) -> None:
    """r = R / max(1, N + more_visits), P(s') = N(s') / max(1, M + more_rows): M is N, or the sum of N(s') if `own_rows`.

    With nothing added these are the empirical means. Rows need not sum to one, and entries may be negative.
    """
    layers, states, actions = counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                visits = max(1.0, counts.visits[layer, s, a] + more_visits)
                total = counts.visits[layer, s, a]
                if own_rows:
                    total = 0.0
                    for t in range(states):
                        total += counts.transitions[layer, s, a, t]
                row = max(1.0, total + more_rows)
                share = 1.0 / row
                work.visits[layer, i] = visits
                work.rows[layer, i] = row
                work.rewards[layer, i] = counts.rewards[layer, s, a] / visits
                for t in range(states):
                    work.transitions[layer, t, i] = counts.transitions[layer, s, a, t] * share


@compiled
def settle(cells: Array, total: float) -> None:
    """Replace cells (1, S) by the nearest ones, in the largest deviation, that are not negative and sum to total >= 0.

    The closed form: clip at 0, then shift all by one tau and clip at 0 again; tau is found in at most S rounds, each of
    which drops the cells that tau has taken below 0.
    """
    states = cells.shape[1]
    clipped = 0.0
    for t in range(states):
        cells[0, t] = max(0.0, cells[0, t])
        clipped += cells[0, t]
    tau = (clipped - total) / states
    kept = states
    while True:
        clipped = 0.0
        positive = 0
        for t in range(states):
            if cells[0, t] > tau:
                clipped += cells[0, t]
                positive += 1
        if positive == kept or positive == 0:
            break
        kept = positive
        tau = (clipped - total) / kept
    for t in range(states):
        cells[0, t] = max(0.0, cells[0, t] - tau)


@compiled
def distributions(counts: Counts, slack: float, lift: float, work: Workspace) -> None:
    """Make every row a probability distribution: `settle` it to within `slack` of N(s, a), add `lift` to each cell, divide.

    N(s, a) becomes the sum of its row, and divides the rewards; an empty row becomes uniform.
    """
    layers, states, actions = counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                clipped = 0.0
                for t in range(states):
                    work.cells[0, t] = counts.transitions[layer, s, a, t]
                    clipped += max(0.0, work.cells[0, t])
                visits = counts.visits[layer, s, a]
                total = max(0.0, min(max(clipped, visits - slack), visits + slack))
                settle(work.cells, total)
                total += states * lift
                work.visits[layer, i] = work.rows[layer, i] = max(1.0, total)
                work.rewards[layer, i] = counts.rewards[layer, s, a] / work.visits[layer, i]
                for t in range(states):
                    work.transitions[layer, t, i] = (work.cells[0, t] + lift) / total if total > 0.0 else 1.0 / states
