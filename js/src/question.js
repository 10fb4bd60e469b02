/** What is asked of an episode, how far one person can move it, and the answer; proofs in confide/questions. */

import { below, chance } from "./random.js";

const PARTS = ["visits", "rewards", "squares", "centred", "halves", "transitions"];

export class Refusal extends Error {}

export function require(holds, sentence) {
  if (!holds) throw new Refusal(sentence);
}

export const inside = (value, size) => Number.isInteger(value) && value >= 0 && value < size;

export function ask({ states, actions, horizon, model }, { kind, parts, last, levels, objective }) {
  const told = kind === "step" || kind === "asked";
  const single = kind !== "counts" && horizon === 1 && last === "dropped" && parts.join() === "centred,halves"; // nothing follows
  require(
    [states, actions, horizon, levels].every((one) => one > 0 && inside(one, 2 ** 24)) && (model === "stationary" || model === "per-step") &&
      (told || ["counts", "budgeted", "bandit"].includes(kind)) && parts.join() === PARTS.filter((part) => parts.includes(part)).join() &&
      (single || (kind !== "bandit" && (kind === "budgeted" || !parts.includes("halves")))) &&
      ["counted", "dropped", "end"].includes(last) && (objective === "reward" || objective === "cost") &&
      !(told && (levels > 1 || (last === "dropped" && !single))),
    "The contract asks for what this version cannot tell. Update it.",
  );
  const layers = model === "stationary" ? 1 : horizon;
  const nexts = single ? 1 : states + (last === "end");
  const moves = horizon - (last === "dropped");
  const has = (part) => parts.includes(part);
  const unit = has("squares") ? levels ** 2 : has("centred") || has("rewards") ? levels : 1;
  const slices = [];
  let cells = 0;
  for (const part of parts) {
    const moved = part === "transitions";
    const length = (moved && layers > 1 ? moves : layers) * states * actions * (moved ? nexts : 1);
    slices.push({ part, start: cells, end: cells + length, trials: layers > 1 ? 1 : moved ? moves : horizon });
    cells += length;
  }
  const pairs = states * actions;
  const [rows, width] = { step: [layers, 2 * pairs * nexts + 1], asked: [layers * pairs, 2 * nexts + 1] }[kind] ?? [1, cells];
  require(cells > 0 && width <= 2 ** 28, "The contract asks for too many numbers. Update it.");
  const resolution = has("centred") ? 2 * unit : unit;
  const law = kind === "asked" ? Array(rows).fill(1) : null; // unless a round carries another
  return { kind, parts, last, levels, objective, states, actions, horizon, layers, nexts, moves, resolution, slices, cells, width, rows, law };
}

/** The most by which replacing one person moves the counts: {l1, l2}. */
export function sensitivity({ parts, last, horizon, moves, layers }) {
  const pooled = layers === 1;
  const centred = parts.includes("centred");
  require(!centred || parts.includes("transitions"), "Centred rewards need transitions. Update the contract.");
  let [l1, square] = [0, 0];
  for (const part of parts) {
    if (part === "centred") continue;
    for (const block of part !== "transitions" ? [horizon] : last === "end" ? [horizon - 1, 1] : [moves]) {
      l1 += 2 * block;
      square += 2 * (pooled ? block ** 2 : block);
    }
  }
  if (centred) {
    l1 += horizon;
    square += (pooled ? horizon ** 2 : horizon) / 2;
    if (parts.length === 2) {
      if (!pooled) square += (last === "end" ? Math.floor(horizon / 2) : Math.ceil(horizon / 2)) / 2;
      else if (last === "dropped" || horizon === (last === "end" ? 2 : 1)) square += 0.5;
    }
  }
  return { l1, l2: Math.sqrt(square) };
}

/** Refuses an episode that could move counts beyond the sensitivity. */
export function admit({ states: size, actions: choices, horizon, last }, { states, actions, rewards }) {
  const steps = actions.length;
  require(
    steps <= horizon && rewards.length === steps && (states.length === steps || states.length === steps + 1) &&
      states.every((one) => inside(one, size)) && actions.every((one) => inside(one, choices)) &&
      rewards.every((one) => one >= 0 && one <= 1) && (last !== "counted" || !steps || states.length > steps),
    "The episode is not one that the contract allows for. Check its states, actions and rewards.",
  );
}

/** (cells,) counts of an episode in units of 1/resolution. `earned`: its rewards as multiples of 1/levels. */
export function count(question, episode, earned) {
  admit(question, episode);
  const { states, actions } = episode;
  const { levels, resolution, last, layers, nexts } = question;
  const cells = new Float64Array(question.cells);
  const within = question.within?.(episode);
  actions.forEach((action, step) => {
    if (within && !within[step]) return;
    const pair = ((layers > 1 ? step : 0) * question.states + states[step]) * question.actions + action;
    const paid = question.objective === "cost" ? levels - earned[step] : earned[step];
    const final = step + 1 === actions.length;
    for (const { part, start } of question.slices) {
      if (part === "visits") cells[start + pair] += resolution;
      else if (part === "rewards") cells[start + pair] += (paid * resolution) / levels;
      else if (part === "squares") cells[start + pair] += (paid * paid * resolution) / levels ** 2;
      else if (part === "centred") cells[start + pair] += ((2 * paid - levels) * resolution) / (2 * levels);
      else if (part === "halves") cells[start + pair] += resolution / 2;
      else if (!final || last !== "dropped") {
        cells[start + pair * nexts + (final && last === "end" ? nexts - 1 : states[step + 1])] += resolution;
      }
    }
  });
  return cells;
}

/** (s, a, s', reward bit) of a step, or (s', reward bit) of the first visit of a pair; the last category if there was none. */
export function category(question, episode, earned, at) {
  admit(question, episode);
  const { kind, states: size, actions: choices, horizon, layers, nexts, width } = question;
  const { states, actions } = episode;
  const end = question.last === "end";
  const pair = (step) => states[step] * choices + actions[step];
  const asked = kind === "asked";
  const step = asked ? actions.findIndex((_, one) => (layers > 1 ? one * size * choices : 0) + pair(one) === at) : at;
  // Cut off at the horizon, it is unknown where a last step would have led.
  if (!(step in actions) || (asked && end && step + 1 === horizon)) return width - 1;
  const following = nexts === 1 ? 0 : end && step + 1 === actions.length ? size : states[step + 1];
  const bit = question.objective === "cost" ? 1 - earned[step] : earned[step];
  return ((asked ? 0 : pair(step) * nexts) + following) * 2 + bit;
}

/** An index, as often as its weight says. */
export function weighted(law) {
  let left = below(law.reduce((sum, one) => sum + one));
  return law.findIndex((one) => (left -= one) < 0);
}

/** {row, cells}: counts, or a one at the category of a step or a pair drawn at random, whatever the episode. */
export function answer(question, episode) {
  const earned = episode.rewards.map((reward) => {
    const low = Math.floor(reward * question.levels);
    return low + (chance(reward * question.levels - low) ? 1 : 0);
  });
  if (question.kind === "counts") return { row: 0, cells: count(question, episode, earned) };
  const at = question.law ? weighted(question.law) : below(question.horizon);
  const cells = new Float64Array(question.width);
  cells[category(question, episode, earned, at)] = 1;
  return { row: question.rows > 1 ? at : 0, cells };
}
