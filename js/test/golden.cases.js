/** What the Python package does, and this one must do as well; golden.json is written by `python -m tests.js.golden`. */

import { fromHex, hex, readContract, weaker, sha256 } from "../src/contract.js";
import { gaussianDelta } from "../src/mechanism.js";
import { answer, ask, category, count, sensitivity } from "../src/question.js";
import { atLeast } from "../src/random.js";
import { clamp, pack, respond } from "../src/report.js";
import { episodeBytes } from "../src/tickets.js";
import { readLaw } from "../src/wire.js";
import { limits, unpack } from "../extra/reading.js";
import { bytesOf, ok, refused, same } from "./checks.js";

const draw = (size) => Math.floor(Math.random() * size);

/** An episode of any length, at random. */
function anything({ states, actions, horizon }) {
  const steps = draw(horizon + 1);
  const many = (length, size) => Array.from({ length }, () => draw(size));
  return { states: many(steps + 1, states), actions: many(steps, actions), rewards: Array.from({ length: steps }, () => Math.random()) };
}

export function cases(golden) {
  return {
    "an episode has the same counts": () => {
      for (const { spec, question, episodes, ...wanted } of golden.questions) {
        const asked = ask(spec, question);
        same([asked.cells, asked.resolution], [wanted.cells, wanted.resolution], "its sizes");
        same(asked.slices.map(({ trials }) => trials), wanted.trials, "its trials");
        if (wanted.l1 !== null) same(sensitivity(asked), { l1: wanted.l1, l2: wanted.l2 }, `the price of ${question.parts} ${question.last}`);
        for (const { filled, earned, ...episode } of episodes) {
          const cells = new Float64Array(asked.cells);
          filled[0].forEach((at, number) => (cells[at] = filled[1][number]));
          same(count(asked, episode, earned), cells, "counts");
          same(answer(asked, episode).cells, cells, "counts of rewards that need no rounding");
        }
      }
    },
    "a step, and the first visit of a pair, have the same category": () => {
      for (const { spec, question, width, rows, episodes } of golden.categories) {
        const asked = ask(spec, question);
        same([asked.width, asked.rows], [width, rows], "its sizes");
        for (const { categories, earned, ...episode } of episodes) {
          same(categories.map((_, at) => category(asked, episode, earned, at)), categories, `categories of ${question.kind}`);
        }
      }
    },
    "a law of pairs is the same, and what is none is refused": async () => {
      for (const { contract, law, bytes, bad } of golden.laws) {
        const { design: { question } } = await readContract(bytesOf(contract));
        const read = async (data) => readLaw(data, hex(await sha256(data)), question);
        same(await read(fromHex(bytes)), law, "weights");
        await refused(() => readLaw(fromHex(bytes), "00", question), "another than was signed");
        await refused(() => readLaw(fromHex(bytes), hex(new Uint8Array(32)), { ...question, kind: "step" }), "of another kind");
        for (const one of bad) await refused(() => read(fromHex(one)), one);
      }
    },
    "a message has the same bytes, both ways": async () => {
      for (const { contract, messages, low, high } of golden.designs) {
        const { design } = await readContract(bytesOf(contract));
        same(limits(design), { low, high }, `limits of ${contract.slice(0, 40)}`);
        for (const { row, cells, bytes } of messages) {
          same(hex(pack(design, row, Float64Array.from(cells))), bytes, "bytes");
          same(unpack(design, fromHex(bytes)), { row, cells }, "numbers");
        }
      }
    },
    "bytes that no honest device sends are refused": async () => {
      for (const { contract, bad } of golden.designs) {
        const { design } = await readContract(bytesOf(contract));
        for (const bytes of bad) await refused(() => unpack(design, fromHex(bytes)), bytes);
      }
    },
    "a report is one that can be counted, and numbers beyond the limits are clamped": async () => {
      for (const { contract, low, high } of golden.designs) {
        const { design } = await readContract(bytesOf(contract));
        const { states, horizon } = design.question;
        for (let steps = 0; steps <= horizon; steps++) {
          const episode = { states: Array(steps + 1).fill(states - 1), actions: Array(steps).fill(1), rewards: Array(steps).fill(0.3) };
          unpack(design, respond(design, episode));
        }
        if (design.question.kind !== "counts") continue;
        same(clamp(design, Float64Array.from(high, (one) => one + 5)), high, "clamped from above");
        same(clamp(design, Float64Array.from(low, (one) => one - 5)), low, "clamped from below");
      }
    },
    "every report of a contract has the one length that Python says, whatever happened": async () => {
      for (const { contract, length } of [...golden.designs, ...golden.shuffled]) {
        const { design } = await readContract(bytesOf(contract));
        for (let time = 0; time < 30; time++) same(respond(design, anything(design.question)).length, length, `a report of ${contract.slice(0, 40)}`);
      }
      const [{ contract }] = golden.parcels.filter((one) => one.parcels[0].bytes);
      const { design } = await readContract(bytesOf(contract));
      const { spec } = JSON.parse(contract);
      for (let time = 0; time < 100; time++) {
        const lived = anything({ ...spec, last: "counted" });
        same(episodeBytes(design.question, lived).length, 16 + 16 * spec.horizon, "an episode");
      }
    },
    "who stays at one place sends no more than who roams": async () => {
      const { design } = await readContract(bytesOf(golden.long.contract));
      const { horizon } = design.question;
      const still = { states: Array(horizon + 1).fill(0), actions: Array(horizon).fill(0), rewards: Array(horizon).fill(1) };
      const roams = { states: Array.from({ length: horizon + 1 }, (_, at) => at % 2), actions: Array.from({ length: horizon }, (_, at) => (at >> 1) % 2), rewards: Array(horizon).fill(0) };
      for (const lived of [still, roams, still, roams]) same(respond(design, lived).length, golden.long.length, "bytes");
    },
    "what is not in the table of what is accepted is refused": async () => {
      ok(golden.refused.length >= 12, "many of them");
      for (const contract of golden.refused) {
        const sentence = await refused(() => readContract(bytesOf(contract)), contract.slice(0, 400));
        ok(sentence.includes("not in the table of what is accepted"), sentence);
      }
    },
    "a contract is weaker than another where it is in Python": async () => {
      const { contracts, weaker: wanted } = golden.successors;
      const read = await Promise.all(contracts.map((one) => readContract(bytesOf(one))));
      same(read.map((before) => read.map((after) => weaker(after, before))), wanted, "which is weaker than which");
    },
    "the loss is the same, and a contract that breaks its guarantee by a millionth is refused": async () => {
      for (const { contract, loss } of golden.designs) {
        const found = (await readContract(bytesOf(contract))).design.mechanism.loss;
        for (const [name, wanted] of Object.entries(loss)) {
          ok(Math.abs(found[name] / wanted - 1) < 1e-12, `${name} is ${found[name]}, not ${wanted}`);
        }
      }
      for (const contract of golden.weak) {
        const sentence = await refused(() => readContract(bytesOf(contract)), contract.slice(0, 400));
        ok(sentence.includes("does not keep its guarantee"), sentence);
      }
    },
    "delta is that of Python, and not below it by more than a part in 10^10": () => {
      for (const [mu, epsilon, delta] of golden.deltas) {
        const found = gaussianDelta(mu, epsilon);
        ok(Math.abs(found / delta - 1) < 1e-10 * (1 + 1 / Math.min(mu, 1)), `delta(${mu}, ${epsilon}) is ${found}, not ${delta}`);
      }
    },
    "scales become the same fractions, never smaller": () => {
      for (const [scale, p, q] of golden.scales) same(atLeast(scale, 1), [p, q], `a fraction for ${scale}`);
      for (const scale of [1 / 3, 0.1, 7.7]) {
        for (const times of [1, 3, 6, 1024]) {
          const [p, q] = atLeast(scale, times);
          const over = 2n ** 60n; // every float here is a whole multiple of 2^-60
          ok(BigInt(p) * over >= BigInt(scale * 2 ** 60) * BigInt(times) * BigInt(q), "it was rounded down");
        }
      }
    },
    "contracts and episodes that are none are refused in a sentence": async () => {
      const good = JSON.parse(golden.designs[4].contract);
      const { design } = await readContract(bytesOf(golden.designs[4].contract));
      const changes = [
        { schema: "confide.contract/2" }, { trust: "joint" }, { reports_per_person: 2 }, { operator: "" }, { design_digest: "00" },
        { guarantee: { epsilon: null, delta: 0, rho: null } }, { guarantee: { epsilon: 1, delta: 0, rho: 1 } }, { guarantee: { epsilon: -1, delta: 0, rho: null } },
        { spec: { ...good.spec, states: 0 } }, { spec: { ...good.spec, model: "other" } }, { question: { ...good.question, kind: "mixture" } },
        { question: { ...good.question, parts: ["transitions", "centred"] } }, { question: { ...good.question, parts: ["centred"] } },
        { mechanism: { mechanism: "bounded" } }, { mechanism: { mechanism: "toString" } }, { mechanism: { ...good.mechanism, grid: 0 } },
        { mechanism: { ...good.mechanism, grid: 0.3 } }, { mechanism: { ...good.mechanism, scale: Infinity } }, { mechanism: { ...good.mechanism, scale: "9" } },
      ];
      changes.push({ labels: { states: ["one"], actions: good.labels.actions } }, { labels: null }, { spec: null }, { window: null }, { mechanism: null });
      for (const change of changes) await refused(() => readContract(bytesOf(JSON.stringify({ ...good, ...change }))), JSON.stringify(change));
      for (const text of ["", "{", "{}", "null", "[]", "5"]) await refused(() => readContract(bytesOf(text)), text);
      const noisy = JSON.parse(golden.designs[7].contract); // a Gaussian keeps no pure guarantee, however large its epsilon
      noisy.guarantee = { epsilon: 1000, delta: 0, rho: null };
      await refused(() => readContract(bytesOf(JSON.stringify(noisy))), "a pure guarantee by a Gaussian");
      const fine = { states: [0, 1, 2], actions: [0, 1], rewards: [0, 1] };
      respond(design, fine);
      for (const change of [
        { states: [0, 1, 3] }, { states: [0, 1] }, { states: [0, 0.5, 1] }, { actions: [0, 2] }, { actions: [0] }, { rewards: [0, 1.01] }, { rewards: [0, NaN] },
        { states: Array(6).fill(0), actions: Array(5).fill(0), rewards: Array(5).fill(0) },
      ]) await refused(() => respond(design, { ...fine, ...change }), JSON.stringify(change));
    },
  };
}
