"""Our own optimism, for counts that are mostly noise. UCB-VI and LDP-OBI both offer it.

A paper's bonus covers the worst case of every cell at once, S E H / n, and then drowns what was learned. Three things
are done differently here; none touches privacy, since all of it is computed from a release.

1. Transition counts are shrunk by half their error radius (at most n / 5), so that noise in impossible cells vanishes
   and every row is a distribution (`estimate.shrunken`).
2. n = max(1, N, E_n/4): where N is no more than its own noise, the reward is shrunk and the bonus stays bounded, so that
   people are not sent to explore again and again what noise that grows with every user has made doubtful again.
3. The errors of a row's cells are independent, so their effect on P V is the root of a sum of squares around P V, not
   S H E / n. With E_n, E_r, E_p the radii, l = ln(2 + k) / 4 after k users and c = 0.05,

       b_h = sqrt(2 l r(1-r)/n + (c E_r/n)^2) + l/n + (H-h+1) l/n
             + sqrt(2 l Var_P(V_{h+1})/n + (c E_p/n)^2 sum_s' (V_{h+1}(s') - P V_{h+1})^2).

Without noise, a pair nobody has visited is worth everything: b = H at least.

The constants were chosen on RiverSwim (6 states, H = 20), random 5x3 and random 2x2 worlds, with seeds of instances and
runs kept apart from those of any published table, on counts with Gaussian noise of a quarter of the radius. They are a
compromise: on random 2x2 worlds under local noise, where noise alone explores enough, a paper's bonus scaled down to a
tenth or a hundredth often has less regret at equal noise, but now and then it never finds the best policy at all.
"""

from __future__ import annotations

import math

from ..planning.estimate import shrunken
from ..planning.induction import NOISE, REWARD, SLOPE, SPREAD, VISITS, WIDTH, Workspace
from ..planning.inlined import inlined
from ..releases.release import Array, Counts, Radius

THRESHOLD = 0.5
SHARE = 0.2
FLOOR = 0.25
LUCK = 0.25
DOUBT = 0.05


@inlined
def tight(counts: Counts, radius: Radius, users: float, constants: Array, work: Workspace, horizon: int) -> None:
    """See the module; no constants of its own."""
    _, _, actions = counts.visits.shape
    scale = constants[2]
    luck = LUCK * math.log(2.0 + users)
    shrunken(counts, THRESHOLD * radius.transitions, SHARE, FLOOR * radius.visits, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            n, r = work.pairs[VISITS, layer, i], work.pairs[REWARD, layer, i]
            reward_error, cell_error = DOUBT * radius.rewards / n, DOUBT * radius.transitions / n
            width = math.sqrt(2.0 * luck * r * (1.0 - r) / n + reward_error * reward_error) + luck / n
            if radius.visits == 0.0 and counts.visits[layer, i // actions, i % actions] < 1.0:
                width = float(horizon)
            work.pairs[WIDTH, layer, i] = scale * width
            work.pairs[SLOPE, layer, i] = scale * luck / n
            work.pairs[SPREAD, layer, i] = scale * scale * 2.0 * luck / n
            work.pairs[NOISE, layer, i] = scale * scale * cell_error * cell_error
