/** A river to swim up: the world called riverswim, the same law as in the package, played one step at a time. */

export const DRIFT = 0;
export const SWIM = 1;

/** Chances of the next place, [[place, chance], ...]. */
export function moves(places, place, action) {
  const last = places - 1;
  if (action === DRIFT) return [[Math.max(place - 1, 0), 1]];
  if (place === 0) return [[0, 0.4], [1, 0.6]];
  if (place === last) return [[last - 1, 0.4], [last, 0.6]];
  return [[place - 1, 0.05], [place, 0.6], [place + 1, 0.35]];
}

/** How likely a step is to find something. */
export const pay = (places, place, action) => (place === places - 1 && action === SWIM ? 1 : place === 0 && action === DRIFT ? 0.005 : 0);

/** What one step brings: {reward, next}. The river's randomness needs no secret. */
export function step(places, place, action, luck = Math.random) {
  let left = luck();
  let next = place;
  for (const [where, chance] of moves(places, place, action)) {
    next = where;
    left -= chance;
    if (left < 0) break;
  }
  return { reward: luck() < pay(places, place, action) ? 1 : 0, next };
}

/** Lives that differ as much as lives can: one that only drifts, and one that swims up and stays there. */
export function lives(places, steps) {
  const drifting = { states: new Array(steps + 1).fill(0), actions: new Array(steps).fill(DRIFT), rewards: new Array(steps).fill(0) };
  const states = Array.from({ length: steps + 1 }, (_, at) => Math.min(at, places - 1));
  const swimming = { states, actions: new Array(steps).fill(SWIM), rewards: states.slice(0, steps).map((place) => +(place === places - 1)) };
  return { drifting, swimming };
}
