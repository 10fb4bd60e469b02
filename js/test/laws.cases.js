/**
 * Every law both ways: draws are accepted by the true law, and rejected by those of 2/3 and of 3/2 of its scale.
 *
 * A law is accepted if each of its k bins lies within Bernstein's bound of its mean at a failure of ALARM/k: a true law fails
 * with probability at most ALARM = 1e-6 a comparison, by proof, not by an approximation.
 */

import { mechanism } from "../src/mechanism.js";
import { answer, ask, weighted } from "../src/question.js";
import { atLeast, below, chance, chanceOf, coin, exp, gaussian, laplace, rare } from "../src/random.js";
import { readKind } from "../src/returns.js";
import { poisson } from "../src/shares.js";
import { ok, same } from "./checks.js";

const ALARM = 1e-6;

/** Whether this many draws look like a law. counts and chances: by bin. */
export function accepted(counts, chances) {
  const draws = counts.reduce((sum, one) => sum + one, 0);
  const log = Math.log((2 * counts.length) / ALARM);
  return counts.every((count, at) => {
    const radius = log / 3 + Math.sqrt((log / 3) ** 2 + 2 * draws * chances[at] * (1 - chances[at]) * log);
    return Math.abs(count - draws * chances[at]) <= radius;
  });
}

/** Whole numbers in bins -most .. most, and what is beyond in the outer ones. */
function binned(draw, draws, most) {
  const counts = new Float64Array(2 * most + 1);
  for (let one = 0; one < draws; one++) counts[most + Math.min(Math.max(draw(), -most), most)]++;
  return counts;
}

function normalised(weight, most) {
  const beyond = most * 50 + 200;
  const chances = new Float64Array(2 * most + 1);
  for (let x = -beyond; x <= beyond; x++) chances[most + Math.min(Math.max(x, -most), most)] += weight(x);
  const sum = chances.reduce((all, one) => all + one, 0);
  return chances.map((one) => one / sum);
}

const yes = (p) => [1 - p, p];
const event = (draw, draws) => {
  let hits = 0;
  for (let one = 0; one < draws; one++) hits += draw();
  return [draws - hits, hits];
};

const SPEC = { states: 2, actions: 2, horizon: 2, model: "stationary" };
const STEP = ask(SPEC, { kind: "step", parts: ["centred", "transitions"], last: "counted", levels: 1, objective: "reward" });
const COUNTS = ask(SPEC, { kind: "counts", parts: ["visits"], last: "counted", levels: 1, objective: "reward" });
const WIDTH = STEP.width;

/** The message about category 3, summed over people. */
function told(encoding, epsilon, people) {
  const { randomise } = mechanism(STEP, { mechanism: "categories", epsilon, categories: WIDTH, encoding });
  const sum = new Float64Array(WIDTH);
  for (let one = 0; one < people; one++) {
    const cells = new Float64Array(WIDTH);
    cells[3] = 1;
    randomise(cells).forEach((bit, at) => (sum[at] += bit));
  }
  return sum;
}

/** How likely a set names the true category, and any other, at the size of least variance among all sizes. */
function bestSubset(epsilon) {
  const sizes = Array.from({ length: WIDTH - 1 }, (_, at) => {
    const size = at + 1;
    const hit = (size * Math.exp(epsilon)) / (size * Math.exp(epsilon) + WIDTH - size);
    const miss = (size - hit) / (WIDTH - 1);
    return { hit, miss, variance: (miss * (1 - miss)) / (hit - miss) ** 2 };
  });
  return sizes.reduce((best, one) => (one.variance < best.variance ? one : best));
}

/** name: [draws by scale, the law by scale, scales]. Draws and laws are lists of [counts] and [chances], compared one by one. */
const LAWS = {
  "a coin that a float stands for": [(s) => [event(() => chance(s), 1e5)], (s) => [yes(s)], [0.3, 0.6, 0.01, 2 ** -40 + 0.5]],
  "a coin of a fraction": [(s) => [event(() => chanceOf(BigInt(Math.round(s * 2100)), 2100n), 1e5)], (s) => [yes(Math.round(s * 2100) / 2100)], [1 / 3, 3 / 7]],
  "exp(-x)": [(s) => [event(() => exp(s), 1e5)], (s) => [yes(Math.exp(-s))], [0.2, 0.9, 1, 2.5, 4]],
  "1/(e^x + 1)": [(s) => [event(() => rare(s), 1e5)], (s) => [yes(1 / (Math.exp(s) + 1))], [0.3, 1, 3]],
  "discrete Laplace": [
    (s) => [binned(() => laplace(...atLeast(s, 1)), 1e5, Math.ceil(4 * s))],
    (s, most = s) => [normalised((x) => Math.exp(-Math.abs(x) / s), Math.ceil(4 * most))],
    [0.4, 1, 3.3, 17.25],
  ],
  "discrete Gaussian": [
    (s) => [binned(gaussian(...atLeast(s, 1)), 1e5, Math.ceil(3 * s))],
    (s, most = s) => [normalised((x) => Math.exp(-(x ** 2) / (2 * s ** 2)), Math.ceil(3 * most))],
    [0.4, 1, 3.3, 17.25],
  ],
  "Poisson of a fraction": [
    (s) => [binned(() => poisson(Math.round(s * 30), 30), 1e5, Math.ceil(4 * s + 4))],
    (s, most = s) => {
      const logs = (x) => (x < 0 ? 0 : Math.exp(x * Math.log(s) - s - Array.from({ length: x }, (_, at) => Math.log(at + 1)).reduce((sum, one) => sum + one, 0)));
      return [normalised(logs, Math.ceil(4 * most + 4))];
    },
    [0.1, 0.7, 1, 3.3],
  ],
  "optimised unary": [
    (s) => [...told("unary", s, 3e4)].map((ones) => [3e4 - ones, ones]),
    (s) => Array.from({ length: WIDTH }, (_, at) => yes(at === 3 ? 0.5 : 1 / (Math.exp(s) + 1))),
    [0.5, 2],
  ],
  "k-ary": [
    (s) => [told("k-ary", s, 1e5)],
    (s) => [Float64Array.from({ length: WIDTH }, (_, at) => (at === 3 ? Math.exp(s) : 1) / (Math.exp(s) + WIDTH - 1))],
    [0.5, 2, 4],
  ],
  "subset selection": [
    (s) => [...told("subset", s, 3e4)].map((ones) => [3e4 - ones, ones]),
    (s) => {
      const { hit, miss } = bestSubset(s);
      return Array.from({ length: WIDTH }, (_, at) => yes(at === 3 ? hit : miss));
    },
    [0.5, 1.5],
  ],
  "randomised response": [
    (s) => {
      const { randomise } = mechanism(COUNTS, { mechanism: "randomised-response", bit_epsilon: s, grid: 1 });
      const found = [0, 1, 2].map(() => new Float64Array(3));
      for (let one = 0; one < 5e4; one++) randomise(Float64Array.of(0, 1, 2, 0)).forEach((ones, at) => at < 3 && found[at][ones]++);
      return found;
    },
    (s) => {
      const q = 1 / (Math.exp(s) + 1);
      return [[(1 - q) ** 2, 2 * q * (1 - q), q ** 2], [q * (1 - q), q ** 2 + (1 - q) ** 2, q * (1 - q)], [q ** 2, 2 * q * (1 - q), (1 - q) ** 2]];
    },
    [0.5, 2],
  ],
  "rewards rounded at random": [
    (s) => {
      const asked = ask(SPEC, { kind: "counts", parts: ["rewards"], last: "counted", levels: 4, objective: "reward" });
      return [event(() => answer(asked, { states: [0, 0], actions: [0], rewards: [(2 + s) / 4] }).cells[0] - 2, 1e5)];
    },
    (s) => [yes(s)],
    [0.3, 0.6],
  ],
};

/** What samplers with one mistake would draw: the weight of a whole number, by law. */
const ratio = (x, s) => Math.abs(Math.abs(x) - s ** 2 / (Math.floor(s) + 1)) / s;
const MISTAKES = {
  "zero twice as often": (weight) => (x) => (x ? 1 : 2) * weight(x),
  "nothing beyond two scales": (weight, s) => (x) => (Math.abs(x) <= 2 * s ? weight(x) : 0),
  "without the last factor of its acceptance": (weight, s) => (x) => weight(x) * Math.exp((ratio(x, s) % 1) ** 2 / 2),
};
const NOISE = {
  "discrete Laplace": [(s) => () => laplace(...atLeast(s, 1)), (s) => (x) => Math.exp(-Math.abs(x) / s), 4],
  "discrete Gaussian": [(s) => gaussian(...atLeast(s, 1)), (s) => (x) => Math.exp(-(x ** 2) / (2 * s ** 2)), 3],
};

export function cases() {
  const found = {};
  for (const [name, [sampler, law, scales]] of Object.entries(NOISE)) {
    found[`${name}: none of the laws that a mistake would give it`] = () => {
      for (const scale of [0.8, 3.3, 17.25]) {
        const most = Math.ceil(scales * scale);
        const counts = Array.from(binned(sampler(scale), 1e5, most));
        const like = (weight) => accepted(counts, normalised(weight, most));
        ok(like(law(scale)), `${name} of ${scale} is not accepted by its own law`);
        for (const [mistake, of] of Object.entries(MISTAKES)) {
          if (/Gaussian/.test(name) || !/acceptance/.test(mistake)) ok(!like(of(law(scale), scale)), `${name} of ${scale} passes for ${mistake}`);
        }
      }
    };
  }
  for (const [name, [draws, law, scales]] of Object.entries(LAWS)) {
    found[`${name}: the true law, and not 2/3 or 3/2 of its scale`] = () => {
      for (const scale of scales) {
        const counts = draws(scale);
        const like = (by) => law(by * scale, scale).every((chances, at) => accepted(Array.from(counts[at]), chances));
        ok(like(1), `${name} of ${scale} is not accepted by its own law`);
        for (const by of [2 / 3, 3 / 2]) if (by * scale < 1 || !/coin|rounded/.test(name)) ok(!like(by), `${name} of ${scale} passes for ${by} of it`);
      }
    };
  }
  found["uniform numbers are uniform, at every size"] = () => {
    for (const size of [1, 2, 3, 7, 32, 33]) {
      const counts = Array(size).fill(0);
      for (let one = 0; one < 1e5; one++) counts[below(size)]++;
      ok(accepted(counts, Array(size).fill(1 / size)), `below(${size})`);
    }
    for (const size of [2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 3 * 2 ** 40, 2 ** 53]) {
      const counts = Array(6).fill(0);
      for (let one = 0; one < 1e5; one++) counts[Math.floor((below(size) / size) * 6)]++;
      ok(accepted(counts, Array(6).fill(1 / 6)), `below(${size})`);
      ok(!accepted(counts, [1 / 4, ...Array(5).fill(3 / 20)]), `below(${size}) passes for another law`);
    }
    const pairs = Array(8).fill(0); // three coins in a row
    for (let one = 0; one < 1e5; one++) pairs[coin() * 4 + coin() * 2 + coin()]++;
    ok(accepted(pairs, Array(8).fill(1 / 8)), "coins");
    const signs = Array(4).fill(0); // of draws that follow each other
    for (let one = 0; one < 1e5; one++) signs[(laplace(40, 1) > 0) * 2 + (laplace(40, 1) > 0)]++;
    const up = 0.5 * (1 - Math.tanh(1 / 80)); // above zero
    ok(accepted(signs, [(1 - up) ** 2, up * (1 - up), up * (1 - up), up ** 2]), "signs of draws that follow each other");
  };
  found["bits of one report are flipped each by itself, and a set names as many as it should"] = () => {
    const q = 1 / (Math.E + 1); // of unary encoding: the truth is named by a coin, each other category so often
    const flipped = Array(WIDTH + 1).fill(0);
    const others = Array(WIDTH).fill(0);
    const { randomise } = mechanism(STEP, { mechanism: "categories", epsilon: 1, categories: WIDTH, encoding: "unary" });
    const named = mechanism(STEP, { mechanism: "categories", epsilon: 1, categories: WIDTH, encoding: "subset" });
    for (let one = 0; one < 2e4; one++) {
      const truth = Float64Array.from({ length: WIDTH }, (_, at) => +(at === 3));
      flipped[randomise(truth.slice()).reduce((sum, bit, at) => sum + (bit !== truth[at]), 0)]++;
      const told = named.randomise(truth.slice());
      same(told.reduce((sum, bit) => sum + bit, 0), named.names, "categories named");
      told.forEach((bit, at) => (others[at] += bit));
    }
    let chances = [1];
    for (let bit = 0; bit < WIDTH; bit++) {
      const flips = bit === 3 ? 0.5 : q;
      chances = [...chances, 0].map((one, at) => one * (1 - flips) + (chances[at - 1] ?? 0) * flips);
    }
    ok(accepted(flipped, chances), "the number of flipped bits");
    const { hit, miss } = bestSubset(1);
    others.forEach((ones, at) => ok(accepted([2e4 - ones, ones], yes(at === 3 ? hit : miss)), `category ${at}`));
  };
  found["a sampled step is any of them"] = () => {
    const asked = ask({ ...SPEC, model: "per-step" }, { kind: "step", parts: ["centred", "transitions"], last: "end", levels: 1, objective: "reward" });
    const counts = [0, 0];
    for (let one = 0; one < 1e5; one++) counts[answer(asked, { states: [0, 1], actions: [0, 1], rewards: [0, 1] }).row]++;
    ok(accepted(counts, [1 / 2, 1 / 2]), "steps");
  };
  found["a pair is asked about as often as its law says, and not alike"] = () => {
    const law = [0, 5, 1, 0, 2 ** 40, 2 ** 39];
    const counts = Array(6).fill(0);
    for (let one = 0; one < 1e5; one++) counts[weighted(law)]++;
    const total = law.reduce((sum, one) => sum + one);
    ok(accepted(counts, law.map((one) => one / total)), "its own law");
    ok(!accepted(counts, Array(6).fill(1 / 6)), "all alike");
    const asked = ask(SPEC, { kind: "asked", parts: ["centred", "transitions"], last: "counted", levels: 1, objective: "reward" });
    const only = Array.from(asked.law, (_, at) => +(at === 2));
    for (let one = 0; one < 100; one++) same(answer({ ...asked, law: only }, { states: [], actions: [], rewards: [] }).row, 2, "the only pair");
  };
  found["an asked pair is any of them, whatever happened"] = () => {
    const asked = ask(SPEC, { kind: "asked", parts: ["centred", "transitions"], last: "counted", levels: 1, objective: "reward" });
    const counts = [0, 0, 0, 0];
    for (let one = 0; one < 1e5; one++) counts[answer(asked, { states: [0, 0], actions: [0], rewards: [0] }).row]++;
    ok(accepted(counts, Array(4).fill(1 / 4)) && !accepted(counts, [3 / 8, 5 / 24, 5 / 24, 5 / 24]), "pairs");
  };
  const pairs = 4;
  const returning = () =>
    readKind({
      spec: { ...SPEC, model: "stationary", horizon: 2 },
      question: { kind: "asked_return", one_in: 5, parts: ["centred", "transitions"], last: "counted", levels: 1, objective: "reward" },
      mechanism: { mechanism: "categories", epsilon: 1.2, categories: 5, encoding: "unary" },
    });
  found["one in so many reports a return, whatever happened, and no other share"] = () => {
    const { question } = returning();
    const counts = Array(pairs + 1).fill(0);
    for (let one = 0; one < 1e5; one++) counts[question.answer(question, { states: [0, 0, 0], actions: [0, 0], rewards: [0, 0] }).row]++;
    ok(accepted(counts, [...Array(pairs).fill(1 / 5), 1 / 5]), "one in five, of four pairs");
    ok(!accepted(counts, [...Array(pairs).fill(2 / 9), 1 / 9]), "not one in nine");
    const pull = { ...question, law: [0, 0, 0, 0, 1] };
    for (let one = 0; one < 100; one++) same(question.answer(pull, { states: [], actions: [], rewards: [] }).row, pairs, "the return");
  };
  found["a return is rounded to a bit, and the bit flipped, as often as is priced"] = () => {
    const { question, mechanism: noise } = returning();
    const asked = { ...question, law: [0, 0, 0, 0, 1] };
    const bits = (rewards) => {
      const counts = [0, 0];
      for (let one = 0; one < 1e5; one++) {
        const { row, cells } = question.answer(asked, { states: [0, 0, 0], actions: [0, 0], rewards });
        const sent = noise.randomise(cells, row);
        same(sent.reduce((sum, bit) => sum + bit, 0), 1, "one category");
        counts[sent.indexOf(1)]++;
      }
      return counts;
    };
    for (const [rewards, share] of [[[0, 0], 0], [[1, 1], 1], [[0.25, 0.25], 0.25], [[1, 0.5], 0.75]]) {
      const counts = bits(rewards);
      const law = (epsilon) => yes((share * Math.exp(epsilon) + 1 - share) / (Math.exp(epsilon) + 1));
      ok(accepted(counts, law(1.2)), `a return of ${share} of the most`);
      ok(!accepted(counts, law(1.2 * 2 / 3)) && !accepted(counts, law(1.2 * 3 / 2)), `another noise at ${share}`);
    }
    const costs = { ...asked, objective: "cost" };
    const free = Array.from({ length: 100 }, () => question.answer(costs, { states: [0, 0, 0], actions: [0, 0], rewards: [1, 1] }).cells.indexOf(1));
    ok(free.every((bit) => bit === 0), "what pays all costs nothing");
  };
  return found;
}
