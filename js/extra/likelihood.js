/** How likely a life is to send given bytes, for readers who want to see what a report gives away; a device needs none of this. */

import { category, count } from "../src/question.js";
import { returnOf } from "../src/returns.js";

/** (width,) for each category, the logarithm of the chance that these cells are reported of it. */
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

/** The logarithm of the chance that of this many bits, of which `set` are one, `sent` are one after each was flipped with a chance. */
export function flipped(bits, set, sent, flip) {
  const [logFlip, logKeep] = [Math.log(flip), Math.log1p(-flip)];
  const choose = (n, k) => Array.from({ length: k }, (_, at) => Math.log((n - at) / (at + 1))).reduce((sum, one) => sum + one, 0);
  const ways = [];
  for (let kept = Math.max(0, sent - (bits - set)); kept <= Math.min(set, sent); kept++) {
    const lies = set - kept + (sent - kept);
    ways.push(choose(set, kept) + choose(bits - set, sent - kept) + lies * logFlip + (bits - lies) * logKeep);
  }
  const top = Math.max(...ways);
  return top + Math.log(ways.reduce((sum, one) => sum + Math.exp(one - top), 0));
}

/** What flipped bits say of lives; over which lives that is largest is not looked for. */
function ofBits({ design: { question, mechanism: noise }, mechanism }, cells) {
  const flip = mechanism.crowds ? mechanism.crowds[noise.level][0] : 1 / (1 + Math.exp(mechanism.bit_epsilon));
  const { slices, levels, resolution } = question;
  const of = (lived) => {
    const counted = count(question, lived, lived.rewards.map((one) => Math.round(one * levels)));
    let sum = 0;
    for (const { part, start, end, trials } of slices) {
      const weight = part === "rewards" ? levels : 1;
      for (let at = start; at < end; at++) sum += flipped(trials * weight, (counted[at] * weight) / resolution, cells[at], flip);
    }
    return sum;
  };
  return { of, most: null, least: null };
}

/**
 * What {row, cells} of a report about flipped bits, a sampled step, an asked pair or a return say of lives: {of(lived), most, least}, in
 * logarithms of chances. most, least: over all lives that there could be; null where they are not known. Null for reports of another kind.
 */
export function likelihood(contract, { row, cells }) {
  const { question } = contract.design;
  const { crowds, bit_epsilon: bit } = contract.mechanism;
  if (question.kind === "counts") return crowds || bit ? ofBits(contract, cells) : null;
  if (row === question.pairs) return ofReturn(contract, cells);
  // A sampled step to a shuffler: every bit is flipped alike.
  const how = crowds ? { encoding: "symmetric", epsilon: 2 * Math.log(1 / crowds[contract.design.mechanism.level][0] - 1) } : contract.mechanism;
  const chances = told(how, cells);
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

/** What the bit of a return says of lives. */
function ofReturn({ design: { question }, mechanism: { epsilon } }, cells) {
  const chances = told({ epsilon, encoding: "k-ary" }, cells.subarray(0, 2));
  const share = -Math.log(question.rows);
  const of = (lived) => {
    const one = returnOf(question, lived) / question.horizon;
    return share + Math.log((1 - one) * Math.exp(chances[0]) + one * Math.exp(chances[1]));
  };
  return { of, most: share + Math.max(...chances), least: share + Math.min(...chances) };
}

/** {state, action} that a row of asked pairs is about; null for the row of returns. */
export function pair({ question }, row) {
  if (row === question.pairs) return null;
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
