/** How likely a life is to send given bytes, for whoever wants to see what a report gives away; a device needs none of this. */

import { category } from "../src/question.js";

/** (width,) for each category, the logarithm of the chance that these cells are told of it. */
function told({ epsilon, encoding }, cells) {
  if (encoding === "k-ary") {
    const hit = -Math.log1p((cells.length - 1) * Math.exp(-epsilon));
    return Array.from(cells, (bit) => (bit ? hit : hit - epsilon));
  }
  if (encoding === "subset") {
    const size = cells.reduce((sum, bit) => sum + bit, 0);
    let sets = 0; // the logarithm of how many sets of that size hold a category
    for (let one = 1; one < size; one++) sets += Math.log((cells.length - size + one) / one);
    const hit = -Math.log1p(((cells.length - size) / size) * Math.exp(-epsilon)) - sets;
    return Array.from(cells, (bit) => (bit ? hit : hit - epsilon));
  }
  const miss = 1 / (1 + Math.exp(encoding === "unary" ? epsilon : epsilon / 2));
  const hit = encoding === "unary" ? 0.5 : 1 - miss;
  const chance = (bit, likely) => Math.log(bit ? likely : 1 - likely);
  const base = cells.reduce((sum, bit) => sum + chance(bit, miss), 0);
  return Array.from(cells, (bit) => base - chance(bit, miss) + chance(bit, hit));
}

/**
 * What {row, cells} of a report about a sampled step or an asked pair say of lives: {of(lived), most, least}, in logarithms of
 * chances. most, least: over all lives that there could be. Null for reports of another kind.
 */
export function likelihood(contract, { row, cells }) {
  const { question } = contract.design;
  if (question.kind === "counts") return null;
  const chances = told(contract.mechanism, cells);
  const drawn = question.kind === "asked" ? question.rows : question.horizon;
  const asked = question.rows > 1 ? [row] : Array.from({ length: drawn }, (_, at) => at);
  const top = Math.max(...chances);
  const of = (lived) => {
    const found = asked.map((at) => chances[category(question, lived, lived.rewards, at)]);
    const sum = found.reduce((total, one) => total + Math.exp(one - top), 0);
    return top + Math.log(sum / drawn);
  };
  const share = Math.log(asked.length / drawn);
  return { of, most: top + share, least: Math.min(...chances) + share };
}

/** {state, action} that a row of asked pairs is about. */
export function pair({ question }, row) {
  const at = row % (question.states * question.actions);
  return { state: Math.floor(at / question.actions), action: at % question.actions };
}

/**
 * {state, action, next, rewarded} of a category in a row, or null for a step that was not taken, a pair that was not visited.
 * next is null where the episode ended.
 */
export function fact({ question }, at, row = 0) {
  if (at === question.width - 1) return null;
  const [move, bit] = [at >> 1, at & 1];
  const [before, next] = [Math.floor(move / question.nexts), move % question.nexts];
  const { state, action } = pair({ question }, question.kind === "asked" ? row : before);
  return { state, action, next: next === question.states ? null : next, rewarded: bit === (question.objective === "cost" ? 0 : 1) };
}
