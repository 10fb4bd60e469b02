/** Described features as the Python package computes them, and devices that tell of them; golden.json has the vectors (tests/js/featured.py). */

import { fromHex, hex, readContract, sha256 } from "../src/contract.js";
import { Device } from "../src/device.js";
import { describe, moments, observedBytes, pointed, privUnit, ranked } from "../src/features.js";
import { respond } from "../src/report.js";
import { memoryStorage } from "../src/storage.js";
import { readPolicies } from "../src/wire.js";
import { limits, unpack } from "../extra/reading.js";
import { bytesOf, ok, refused, same } from "./checks.js";
import { openService } from "./service.js";

const near = (found, wanted, why, within = 1e-11) =>
  [...found].forEach((one, at) => ok(Math.abs(one - wanted[at]) <= within * Math.max(1, Math.abs(wanted[at])), `${why}: ${one} is not ${wanted[at]} at ${at}`));
const read = async ({ contract }) => readContract(bytesOf(contract));

export function cases({ featured: golden }) {
  return {
    "what is observed has the same features": () => {
      for (const { features, rows, beyond, strange } of golden.described) {
        const described = describe(features);
        for (const { observed, row, x, psi } of rows) {
          same(described.encode(observed), row, "its numbers");
          x.forEach((wanted, action) => near(described.x(row, action), wanted, "x"));
          near(described.psi(row), psi, "psi");
        }
        same(described.encode(beyond.observed), beyond.row, "moved into its range");
        for (const one of strange) same(described.encode(one), null, JSON.stringify(one));
      }
    },
    "descriptions that are none are refused": async () => {
      const [{ features: good }] = golden.described;
      const [age, , plan] = good.inputs;
      const changes = [
        { format: "confide.features/2" }, { inputs: [] }, { inputs: [{ ...age, low: age.high }, good.inputs[1], plan] }, { inputs: [age, age, plan] }, { inputs: [age, good.inputs[1], { ...plan, values: [] }] },
        { actions: ["none", "none", "cake"] }, { actions: ["none"] }, { numbers: {} }, { numbers: { price: [0, 1] } }, { numbers: { price: [0, 1, 1e7] } }, { terms: [] }, { terms: [[{ number: "weight", power: 1 }]], mix: [[1]] },
        { terms: [[{ number: "age", power: 17 }]], mix: [[1]] }, { terms: [[{ number: "age", is: "pro" }]], mix: [[1]] }, { terms: [[{ category: "plan", is: "gold" }]], mix: [[1]] }, { mix: [[1]] }, { mix: good.mix.map((row) => row.map(() => NaN)) },
        { mix: good.mix.map((row) => row.map(() => 1e7)) }, { next_terms: [[{ action: "price" }]], next_mix: [[1]] },
      ];
      for (const change of changes) await refused(() => describe({ ...good, ...change }), JSON.stringify(change));
    },
    "an episode has the same moments, and a report the same bytes, both ways": async () => {
      for (const row of golden.reported) {
        const { design } = await read(row);
        const { question, mechanism } = design;
        same(limits(design), { low: row.low, high: row.high }, "limits");
        for (const [name, wanted] of Object.entries(row.loss)) ok(Math.abs(mechanism.loss[name] / wanted - 1) < 1e-12, `${name} is ${mechanism.loss[name]}, not ${wanted}`);
        for (const { cells, ...lived } of row.episodes) {
          near(moments(question, lived), cells, "cells");
          const report = respond(design, lived);
          same(report.length, row.length, "one length");
          unpack(design, report);
        }
        for (const { cells, bytes } of row.messages) same(unpack(design, fromHex(bytes)).cells, cells, "numbers");
      }
    },
    "no episode has moments beyond their bounds": async () => {
      for (const row of golden.reported) {
        const { question } = (await read(row)).design;
        for (const { cells: _, ...lived } of row.episodes) {
          const square = { gram: 0, vector: 0 };
          const cells = moments(question, { ...lived, rewards: lived.rewards.map(() => 1) });
          for (const { part, start, end } of question.slices) for (let at = start; at < end; at++) square[part] += cells[at] ** 2;
          ok(Math.sqrt(2 * square.gram) <= question.gram * (1 + 1e-9) && Math.sqrt(square.vector) <= question.vector * (1 + 1e-9), "within");
        }
      }
    },
    "directions are ranked alike, and told alike": () => {
      for (const { unit, directions, coins, cells, order, messages } of golden.units) {
        same(ranked(unit, directions, cells), order, "their order");
        same([...order].sort((one, other) => one - other), [...directions.keys()], "a permutation");
        directions.forEach((each, at) => same(pointed(unit, each, coins), messages[at], "a message"));
      }
      const [{ unit, directions }] = golden.units;
      for (const strange of [NaN, Infinity, -Infinity, 0, 1e308]) {
        const order = ranked(unit, directions.map((each, at) => (at % 2 ? each : each.map(() => strange))), [1e300, -1e300, NaN]);
        same([...order].sort((one, other) => one - other), [...directions.keys()], "a permutation whatever floats do");
      }
    },
    "the mean of messages is the vector, and no other multiple of it": () => {
      // How far <u, w> is from nought follows from how often a favoured direction is reported: at 2/3 and 3/2 of epsilon means are others.
      const { unit } = golden.units[0];
      const { loss, randomise } = privUnit({ width: 3 }, { ...unit, vector: 3 });
      same(loss, { epsilon: unit.epsilon }, "its loss");
      const cells = [2, -1, 2].map((one) => Math.round((one * unit.bound) / 3 / unit.grid));
      const [people, sum] = [100000, [0, 0, 0]];
      for (let one = 0; one < people; one++) randomise(Float64Array.from(cells)).forEach((each, at) => (sum[at] += each / people));
      const error = unit.length / unit.bound / Math.sqrt(4 * people);
      sum.forEach((each, at) => ok(Math.abs(each - cells[at]) * unit.grid < 6 * error * unit.bound, `the mean is ${sum}, not ${cells}`)); // six errors: less than 1e-8
      ok(6 * error < 0.06, "where a third less, or half more, would give .7 and 1.3 times the vector");
    },
    "policies are followed as in Python": async () => {
      for (const { bytes, rows, best_first: wanted, contract } of golden.policies) {
        const { spec, observed } = await read({ contract });
        const data = fromHex(bytes);
        const policies = await readPolicies(data, hex(await sha256(data)), spec, observed.weights);
        wanted.forEach((steps, at) => steps.forEach((states, step) => states.forEach((order, place) => {
          const offered = [...order].sort((one, other) => one - other);
          same(policies[at](step, rows[place], offered), order[0], "the best");
          same(policies[at](step, rows[place], offered.filter((one) => one !== order[0])), order[1], "the best of the others");
          same(policies[at](step, rows[place], order.slice(-1)), order.at(-1), "the only one");
        })));
        for (const wrong of [data.subarray(0, -1), data.subarray(0, 40), new Uint8Array(60)]) await refused(async () => readPolicies(wrong, hex(await sha256(wrong)), spec, observed.weights), "weights that are none");
      }
    },
    "a curator gets the same bytes": async () => {
      for (const { contract, parcels } of golden.handed) {
        const made = await read({ contract });
        for (const { ticket, bytes, ...lived } of parcels) {
          same(hex(new Uint8Array([...fromHex(ticket), ...observedBytes(made.design.question, lived)])), bytes, "an episode");
          same(hex(made.parcel(made, { ticket: btoa(String.fromCharCode(...fromHex(ticket))), batch: 1 }, lived)), bytes, "a parcel");
        }
        const { states, actions, rewards } = parcels.at(-1);
        for (const wrong of [{ rewards: rewards.map(() => 2) }, { actions: actions.map(() => 99) }, { states: states.map((row) => row.map(() => NaN)) }, { states: [] }, { actions: [...actions, 0] }]) {
          await refused(() => observedBytes(made.design.question, { states, actions, rewards, ...wrong }), JSON.stringify(wrong));
        }
      }
    },
    "a contract that breaks its guarantee by a millionth, or asks with other bounds, is refused": async () => {
      for (const { contract } of golden.reported) {
        const good = JSON.parse(contract);
        const { mechanism: noise, guarantee, question } = good;
        if (good.trust === "shuffle") {
          const wide = { ...noise, rate: Math.floor(noise.rate * 0.7) };
          for (const wrong of [{ mechanism: wide }, { mechanism: { ...noise, grid: noise.grid * 3 } }, { mechanism: { ...noise, honest: noise.honest.map((one) => one * 2) } }, { question: { ...question, bounds: question.bounds.map((one) => one * 2) } }]) {
            await refused(() => read({ contract: JSON.stringify({ ...good, ...wrong }) }), JSON.stringify(wrong));
          }
          continue;
        }
        const change = "sigma" in noise ? { sigma: noise.sigma * (1 - 1e-6) } : { epsilon: noise.epsilon * (1 + 1e-6) };
        const sentence = await refused(() => read({ contract: JSON.stringify({ ...good, mechanism: { ...noise, ...change } }) }), "less noise");
        ok(sentence.includes("does not keep its guarantee"), sentence);
        if ("sigma" in noise) {
          for (const [at, by] of [[0, 1.5], [1, 1.01]]) {
            const bounds = question.bounds.map((one, place) => (place === at ? one * by : one));
            await refused(() => read({ contract: JSON.stringify({ ...good, question: { ...question, bounds } }) }), "larger bounds");
          }
        } else {
          for (const wrong of [{ favoured: 0 }, { favoured: noise.candidates }, { candidates: 1e9 }, { length: -1 }, { grid: 0 }, { vector: noise.vector + 1 }]) {
            await refused(() => read({ contract: JSON.stringify({ ...good, mechanism: { ...noise, ...wrong } }) }), JSON.stringify(wrong));
          }
        }
        await refused(() => read({ contract: JSON.stringify({ ...good, question: { ...question, features: { ...question.features, mix: [] } } }) }), "no features");
        same(guarantee, good.guarantee, "the guarantee");
      }
    },
    "an episode acts by name, and reports what was observed": async () => {
      for (const { contract } of [golden.reported[2], golden.handed[2]]) {
        const service = await openService(JSON.parse(contract), { window: { seconds: 0.001 } });
        const policy = golden.policies[2];
        const name = hex(await sha256(fromHex(policy.bytes)));
        service.policies[name] = fromHex(policy.bytes);
        await service.publish(0, { policy: name });
        service.policies[name] = fromHex(policy.bytes);
        const events = [];
        const device = await Device.join("https://tea.example", { pin: service.pin, storage: memoryStorage(), fetch: service.fetch, onevent: (event) => events.push(event) });
        const episode = await device.begin();
        const { actions, inputs } = device.contract.design.question.features;
        same(inputs.map(({ name: one }) => one), ["age", "hour", "plan"], "inputs");
        for (const plan of ["pro", "free", "team", "pro"]) {
          ok(actions.includes(episode.act({ age: 41, hour: 3, plan })), "an action by name");
          episode.observe(1, { age: 42, hour: 4, plan: "pro" });
        }
        const body = await episode.finish();
        ok(body?.length > 0 && !events.some(({ type }) => type === "input"), JSON.stringify(events));
        const other = await device.begin();
        ok(actions.includes(other.act({ age: 41, hour: 3, plan: "gold" })), "an action, whatever is observed");
        ok(events.some(({ type, message }) => type === "input" && !message.includes("gold")), "told, and not repeated");
      }
    },
    "a choice takes the best on offer, and reports at its time with the reward that came, or none": async () => {
      const { contract } = golden.reported[3];
      for (const late of [null, 0.75]) {
        const service = await openService(JSON.parse(contract), { window: { seconds: 0.05 } });
        const policy = golden.policies[3];
        const name = hex(await sha256(fromHex(policy.bytes)));
        await service.publish(0, { policy: name });
        service.policies[name] = fromHex(policy.bytes);
        const device = await Device.join("https://tea.example", { pin: service.pin, storage: memoryStorage(), fetch: service.fetch });
        const episode = await device.begin();
        ok(["tea", "cake"].includes(episode.choose({ age: 41, hour: 3, plan: "pro" }, ["tea", "cake"])), "of those on offer");
        if (late !== null) episode.reward(late);
        for (let time = 0; time < 100 && !service.letters.length; time++) await new Promise((done) => setTimeout(done, 10));
        same(service.letters.length, 1, "one report, at its time");
        episode.reward(1);
        await device.flush();
        same(service.letters.length, 1, "and no other");
        const strange = await device.begin();
        same(strange.choose({ age: 41, hour: 3, plan: "pro" }, ["water"]), "water", "what is on offer");
      }
      
    },
  };
}
