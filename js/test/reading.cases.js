/** What a report gives away, as js/extra computes it: exact where that can be summed up, and against drawn reports where not. */

import { category } from "../src/question.js";
import { readContract, respond } from "../src/index.js";
import { fact, flipped, likelihood, pair } from "../extra/likelihood.js";
import { unpack } from "../extra/reading.js";
import { bytesOf, ok, same } from "./checks.js";

const MANY = 10000;
const ERRORS = 5.5; // standard errors: a false alarm in 2e-8 of all runs

export function cases(golden) {
  const told = async (...kinds) => {
    const found = await Promise.all(golden.designs.map(({ contract }) => readContract(bytesOf(contract))));
    return found.filter(({ design }) => kinds.includes(design.question.kind));
  };
  const lives = ({ spec }) => {
    const states = Array.from({ length: spec.horizon + 1 }, (_, at) => at % spec.states);
    const still = { states: states.map(() => 0), actions: Array(spec.horizon).fill(0), rewards: Array(spec.horizon).fill(0) };
    return [still, { states, actions: Array(spec.horizon).fill(spec.actions - 1), rewards: states.slice(1).map((at) => at % 2) }];
  };
  return {
    "a life's chances of all reports add up to one, and no two lives differ by more than epsilon": async () => {
      const encodings = new Set();
      for (const contract of (await told("step", "asked")).filter(({ design }) => !design.question.pairs)) {
        const { question } = contract.design;
        const { epsilon, encoding } = contract.mechanism;
        encodings.add(encoding);
        const chances = (at, row = 0) => likelihood(contract, { row, cells: Float64Array.from({ length: question.width }, (_, one) => +(one === at)) });
        const { most, least } = chances(1);
        ok(most - least <= epsilon * (1 + 1e-12), `${encoding}: ${most - least}`);
        if (encoding !== "k-ary") continue;
        ok(most - least > epsilon * (1 - 1e-12), "the bound is reached");
        for (const life of lives(contract)) {
          let sum = 0;
          for (let row = 0; row < question.rows; row++) for (let at = 0; at < question.width; at++) sum += Math.exp(chances(at, row).of(life));
          ok(Math.abs(sum - 1) < 1e-9, `${sum}`);
        }
      }
      ok(encodings.size >= 2, [...encodings].join());
    },
    "one life's reports are as likely from another as it says": async () => {
      for (const contract of await told("step", "asked")) {
        const [first, second] = lives(contract);
        let [sum, squares] = [0, 0];
        for (let one = 0; one < MANY; one++) {
          const { of } = likelihood(contract, unpack(contract.design, respond(contract.design, first)));
          const ratio = Math.exp(of(second) - of(first)); // its mean under the first life is one
          sum += ratio;
          squares += ratio * ratio;
        }
        const mean = sum / MANY;
        const error = Math.sqrt(Math.max(squares / MANY - mean * mean, 1e-12) / MANY);
        ok(Math.abs(mean - 1) < ERRORS * error, `${contract.mechanism.encoding}: ${mean} is not 1 by ${error}`);
      }
    },
    "flipped bits have the law that they are said to have, for one life as for another": async () => {
      for (const flip of [0.1, 0.4]) {
        for (const [bits, set] of [[1, 0], [1, 1], [6, 2], [12, 12]]) {
          const chances = Array.from({ length: bits + 1 }, (_, sent) => Math.exp(flipped(bits, set, sent, flip)));
          const mean = chances.reduce((sum, one, sent) => sum + sent * one, 0);
          ok(Math.abs(chances.reduce((sum, one) => sum + one) - 1) < 1e-12 && Math.abs(mean - set * (1 - flip) - (bits - set) * flip) < 1e-12, `${bits} ${set}`);
        }
      }
      const many = 1000;
      const error = Math.sqrt(Math.log(4 / 1e-7) / (2 * many)); // Hoeffding: a false alarm of 1e-7
      const shuffled = await Promise.all(golden.shuffled.map(({ contract }) => readContract(bytesOf(contract))));
      for (const contract of [...shuffled.filter(({ mechanism }) => mechanism.crowds), ...(await told("counts")).filter(({ mechanism }) => mechanism.bit_epsilon)]) {
        const [first, second] = lives(contract);
        const overlap = (one, other) => {
          let sum = 0;
          for (let time = 0; time < many; time++) {
            const { of } = likelihood(contract, unpack(contract.design, respond(contract.design, one)));
            sum += Math.min(1, Math.exp(of(other) - of(one)));
          }
          return sum / many; // which is the same both ways
        };
        const both = [overlap(first, second), overlap(second, first)];
        ok(Math.abs(both[0] - both[1]) < 2 * error && both[0] > 0 && both[0] < 0.99, `${both}`);
      }
    },
    "a category is told back as the step it stands for": async () => {
      for (const contract of await told("step")) {
        const { design } = contract;
        const life = lives(contract)[1];
        for (let step = 0; step < contract.spec.horizon; step++) {
          const told = fact(design, category(design.question, life, life.rewards, step));
          const end = step + 1 === contract.spec.horizon && design.question.last === "end";
          same(told, { state: life.states[step], action: life.actions[step], next: end ? null : life.states[step + 1], rewarded: life.rewards[step] === 1 }, "the step");
        }
        same(fact(design, design.question.width - 1), null, "a step that was not taken");
      }
    },
    "a life's chances of all reports about its return add up to their share, and differ by epsilon at most": async () => {
      const returning = (await told("asked")).filter(({ design }) => design.question.pairs);
      ok(returning.length >= 3, "every encoding");
      for (const contract of returning) {
        const { question } = contract.design;
        const { epsilon } = contract.mechanism;
        const { horizon } = question;
        const chances = (bit) => likelihood(contract, { row: question.pairs, cells: Float64Array.from({ length: question.width }, (_, at) => +(at === bit)) });
        const { most, least } = chances(1);
        ok(Math.abs(most - least - epsilon) < 1e-9, `${most - least}`);
        const [none, all] = [0, 1].map((paid) => ({ states: Array(horizon + 1).fill(0), actions: Array(horizon).fill(0), rewards: Array(horizon).fill(paid) }));
        ok(Math.abs(chances(1).of(all) - most) + Math.abs(chances(1).of(none) - least) < 1e-9, "the ends are reached");
        for (const life of lives(contract)) {
          const sum = Math.exp(chances(0).of(life)) + Math.exp(chances(1).of(life));
          ok(Math.abs(sum * question.rows - 1) < 1e-9, `${sum}`);
        }
        same(pair(contract.design, question.pairs), null, "it is about no pair");
      }
    },
    "a category of an asked pair is told back as its first visit, or that there was none": async () => {
      for (const contract of (await told("asked")).filter(({ design }) => !design.question.pairs)) {
        const { design, spec } = contract;
        const [still, life] = lives(contract);
        const seen = new Set();
        for (let row = 0; row < design.question.rows; row++) {
          const { state, action } = pair(design, row);
          const layer = spec.model === "per-step" ? Math.floor(row / (spec.states * spec.actions)) : null;
          const first = life.actions.findIndex((one, step) => one === action && life.states[step] === state && (layer ?? step) === step);
          seen.add(first);
          const wanted = first < 0 ? null : { state, action, next: life.states[first + 1], rewarded: life.rewards[first] === 1 };
          same(fact(design, category(design.question, life, life.rewards, row), row), wanted, `row ${row}`);
        }
        ok(seen.size > 2 && seen.has(-1), "some were visited, and some not");
        same(fact(design, category(design.question, still, still.rewards, 0), 0), { state: 0, action: 0, next: 0, rewarded: false }, "at once");
      }
    },
  };
}
