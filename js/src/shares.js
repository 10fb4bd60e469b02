/** Shares of noise: each device adds one to its counts, and only the sum over a batch has the noise that hides. */

import { ask, require } from "./question.js";
import { below, coin } from "./random.js";

const UNFIT = "The contract's shares of noise do not fit its statistic. Update the contract.";
const LEAST_RATE = 4;

/**
 * Counts with a share of Skellam noise, of which only sums are shown: confide/mechanisms/skellam.py. The shuffler itself could read them.
 * Of the sums' guarantee it is checked that a Gaussian of their variance would keep it, in Renyi's account, and that as many people share
 * the noise as are assumed to be honest.
 */
export function shared(told) {
  const { spec, question: asked, mechanism: { width, grid } } = told;
  const { kind, budget, parts, last } = asked;
  const question = ask(spec, asked);
  const { horizon, levels, resolution } = question;
  require(
    (kind === "bandit" || (kind === "budgeted" && spec.model === "stationary" && last !== "dropped" && /^centred,(halves,)?transitions$/.test(parts) && integer(budget, Math.min(horizon, spec.states * spec.actions)))) &&
      width === question.width && grid * resolution === 1,
    UNFIT,
  );
  const square = resolution ** 2 * (kind === "bandit" ? 1 : budget < horizon ** 2 ? 3 * budget : 2.5 * horizon ** 2);
  const most = Math.floor(Math.sqrt(budget ?? 1));
  const limits = (reach) => ({ part, trials }) => {
    const far = Math.min(most, trials) * levels;
    return [(part === "centred" ? -far : 0) - reach, (part === "transitions" ? 2 : 1) * far + reach];
  };
  return { question: { ...question, kind: "counts", within: budget && ((lived) => withinBudget(question, budget, lived)) }, mechanism: shareNoise(told, square, limits) };
}

const integer = (one, least) => Number.isSafeInteger(one) && one >= least;

/** Shares for batches of every size. square: of the l2 of two people, in grids; limits: of a slice, by how far a share goes. */
export function shareNoise({ mechanism: { rate, honest }, guarantee, schedule }, square, limits) {
  require(
    integer(rate, LEAST_RATE) && honest.length && honest.every((each, level) => integer(each, 2) && each <= guarantee.honest * schedule.parameter * 2 ** level + 1e-6) &&
      guarantee.honest > 0 && guarantee.honest <= 1,
    UNFIT,
  );
  const delta = (a) => Math.exp((a - 1) * ((a * square) / (4 * rate) - guarantee.epsilon) + a * Math.log1p(-1 / a)) / (a - 1);
  require(Array.from({ length: 255 }, (_, at) => delta(at + 2)).some((one) => one <= guarantee.delta), "The contract's noise does not keep its guarantee. Tell its operator.");
  const noise = (people, level) => {
    const reach = shareReach(rate / people);
    return {
      packing: "whole",
      names: false,
      units: 1,
      level,
      randomise: (cells) => cells.map((one) => one + share(rate, people)),
      limits: limits(reach),
      loss: { epsilon: Infinity },
    };
  };
  return { ...noise(honest[0], 0), sizes: honest.map(noise), apart: honest.length > 1 };
}

/** Which steps a budget lets through: first visits of a pair, and repeats while it lasts; confide/protocol/kinds/budgeted.py. */
export function withinBudget({ horizon, states: size, actions: choices }, budget, { states, actions }) {
  const visits = new Map();
  let spent = 0;
  return actions.map((action, step) => {
    const pair = states[step] * choices + action;
    const before = visits.get(pair) ?? 0;
    const more = 2 * before + 1;
    const possible = Math.min(horizon - step - 1, size * choices - visits.size);
    if (before && spent + more + possible > budget) return false;
    spent += more;
    visits.set(pair, before + 1);
    return true;
  });
}

/** Poisson(1): as many heads before the first tails are kept with the chance 2^(n-1)/n!. */
function poissonOne() {
  for (;;) {
    let heads = 0;
    while (coin()) heads++;
    let kept = heads > 0 || coin();
    for (let i = 3; kept && i <= heads; i++) kept = below(i) < 2;
    if (kept) return heads;
  }
}

/** Poisson of mean rate/people, exactly: whole ones, and one that is thinned. */
export function poisson(rate, people) {
  const part = rate % people;
  let total = 0;
  for (let whole = (rate - part) / people; whole--; ) total += poissonOne();
  for (let left = part && poissonOne(); left--; ) total += below(people) < part;
  return total;
}

/** The difference of two. */
function share(rate, people) {
  return poisson(rate, people) - poisson(rate, people);
}

/** How far a share goes, but for a chance of 2^-100. */
function shareReach(mean) {
  let far = Math.max(2, 2 * mean);
  while (Math.LN2 + far - mean - far * Math.log(far / mean) > -100 * Math.LN2) far += Math.max(1, Math.floor(far / 8));
  return Math.ceil(far);
}
