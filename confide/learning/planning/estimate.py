"""From counts, which privacy may have made negative, fractional and inconsistent, to a model a planner can use."""

from __future__ import annotations

from ...compiled import compiled
from ...protocol.releases.release import Array, Counts
from .induction import REWARD, ROWS, VISITS, Workspace
from .inlined import inlined


@inlined
def ratios(counts: Counts, more_visits: float, more_rows: float, own_rows: bool, work: Workspace) -> None:
    """r = R / max(1, N + more_visits), P(s') = N(s') / max(1, M + more_rows); M is N, or sum N(s') if `own_rows`.

    With nothing added these are the empirical means. Rows need not sum to one, and entries may be negative.
    """
    layers, states, actions = counts.visits.shape
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                total = counts.visits[layer, s, a]
                visits = max(1.0, total + more_visits)
                if own_rows:
                    total = 0.0
                    for t in range(states):
                        total += counts.transitions[layer, s, a, t]
                row = max(1.0, total + more_rows)
                share = 1.0 / row
                work.pairs[VISITS, layer, i] = visits
                work.pairs[ROWS, layer, i] = row
                work.pairs[REWARD, layer, i] = counts.rewards[layer, s, a] / visits
                for t in range(states):
                    work.transitions[layer, t, i] = counts.transitions[layer, s, a, t] * share


@compiled
def settle(cells: Array, total: float) -> None:
    """Replace cells (1, S) by numbers that are not negative, sum to total >= 0, and deviate least at worst.

    The closed form of that linear program: clip at 0, then shift all by one tau and clip at 0 again. Each round drops
    the cells that tau has taken below 0, so there are at most S.
    """
    states = cells.shape[1]
    for t in range(states):
        cells[0, t] = max(0.0, cells[0, t])
    tau, active = -1.0, states + 1
    while True:
        excess, above = -total, 0
        for t in range(states):
            if cells[0, t] > tau:
                excess += cells[0, t]
                above += 1
        if above == 0 or above >= active:
            break
        tau, active = excess / above, above
    for t in range(states):
        cells[0, t] = max(0.0, cells[0, t] - tau)


@inlined
def distributions(counts: Counts, slack: float, lift: float, work: Workspace) -> None:
    """Make rows distributions: `settle` each to within `slack` of N(s, a), add `lift` to each cell, divide by the sum.

    That sum replaces N(s, a) and divides the rewards too; an empty row becomes uniform.
    """
    layers, states, actions = counts.visits.shape
    cells = work.scratch[:1, :states]
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                clipped = 0.0
                for t in range(states):
                    cells[0, t] = counts.transitions[layer, s, a, t]
                    clipped += max(0.0, cells[0, t])
                visits = counts.visits[layer, s, a]
                total = max(0.0, min(max(clipped, visits - slack), visits + slack))
                settle(cells, total)
                total += states * lift
                for t in range(states):
                    work.transitions[layer, t, i] = (cells[0, t] + lift) / total if total > 0.0 else 1.0 / states
                work.pairs[VISITS, layer, i] = work.pairs[ROWS, layer, i] = max(1.0, total)
                work.pairs[REWARD, layer, i] = counts.rewards[layer, s, a] / max(1.0, total)


@inlined
def shrink_pair(
    counts: Counts, pair: tuple[int, int, int], threshold: float, share: float, floor: float, work: Workspace
) -> None:
    """Believe only what noise could not have made: take min(threshold, share n) off transition counts, clip, divide.

    n = max(1, floor, N) divides the rewards, whose means are clipped to [0, 1]. Small transition counts, most of which
    are noise in impossible cells, become zero, and rows become distributions, uniform if nothing is left. With threshold
    and floor 0 these are the empirical means.
    """
    layer, s, a = pair
    _, states, actions = counts.visits.shape
    i = s * actions + a
    visits = max(1.0, floor, counts.visits[layer, s, a])
    doubt = min(threshold, share * visits)
    total = 0.0
    for t in range(states):
        cell = max(0.0, counts.transitions[layer, s, a, t] - doubt)
        work.transitions[layer, t, i] = cell
        total += cell
    for t in range(states):
        cell = work.transitions[layer, t, i]
        work.transitions[layer, t, i] = cell / total if total > 0.0 else 1.0 / states
    work.pairs[VISITS, layer, i] = work.pairs[ROWS, layer, i] = visits
    work.pairs[REWARD, layer, i] = min(1.0, max(0.0, counts.rewards[layer, s, a] / visits))
