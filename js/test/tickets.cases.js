/** Devices that take tickets: what they hand over, when, to whom, and that it is counted once. */

import { fromHex, hex, readContract, toBase64, weaker } from "../src/contract.js";
import { Device, memoryStorage, respond } from "../src/index.js";
import { count } from "../src/question.js";
import { pack } from "../src/report.js";
import { withinBudget } from "../src/shares.js";
import { episodeBytes, readTicket, sized } from "../src/tickets.js";
import { limits, unpack } from "../extra/reading.js";
import { bytesOf, ok, refused, same } from "./checks.js";
import { cutOff, openService, timed } from "./service.js";

const URL_ = "https://tea.example";
const WINDOW = 50000;

export function cases(golden) {
  const contracts = golden.parcels.map(({ contract }) => JSON.parse(contract));
  const [shuffle] = contracts;
  const joint = contracts.find(({ trust }) => trust === "joint");

  async function opened(contract, changes) {
    const service = await openService(contract, changes);
    const storage = memoryStorage();
    const events = [];
    const join = (more = {}) =>
      Device.join(more.url ?? URL_, { pin: service.pin, storage, fetch: service.fetch, onevent: (event) => events.push(event), ...more });
    return { service, storage, events, join, types: () => events.map(({ type }) => type) };
  }

  const walk = (episode) => {
    episode.act(0);
    episode.observe(1, 2);
    episode.act(2);
    episode.observe(0, 1);
  };
  const memoryOf = (storage) => JSON.parse(storage.get("confide")).services[URL_];

  return {
    "parcels have the same bytes, and what is no ticket is refused": async () => {
      for (const { contract, parcels, bad } of golden.parcels) {
        const told = await readContract(bytesOf(contract));
        for (const { ticket, batch, round, bytes, ...lived } of parcels) {
          const found = readTicket(fromHex(ticket), told.hash);
          same(found, { ticket: toBase64(fromHex(ticket)), batch, round }, "the ticket");
          const made = told.parcel(told, found, lived);
          if (bytes === null) unpack(sized(told.design, batch), made.slice(64));
          else same([hex(made), hex(episodeBytes(told.design.question, lived))], [bytes, bytes.slice(128)], "the parcel");
        }
        for (const bytes of bad) await refused(() => readTicket(fromHex(bytes), told.hash), bytes);
      }
    },
    "a shuffler's message has the same bytes, both ways, and bad ones are refused": async () => {
      for (const { contract, messages, low, high, bad, loss } of golden.shuffled) {
        const { design } = await readContract(bytesOf(contract));
        same(limits(design), { low, high }, "limits");
        for (const { row, cells, bytes } of messages) {
          same(hex(pack(design, row, Float64Array.from(cells))), bytes, "bytes");
          same(unpack(design, fromHex(bytes)), { row, cells }, "numbers");
        }
        for (const bytes of bad) await refused(() => unpack(design, fromHex(bytes)), bytes);
        const told = loss.epsilon ?? Infinity; // what has no guarantee of its own
        ok(told === design.mechanism.loss.epsilon || Math.abs(design.mechanism.loss.epsilon / told - 1) < 1e-9, `to the shuffler: ${design.mechanism.loss.epsilon}, not ${loss.epsilon}`);
      }
    },
    "where batches widen a report is for the size of its batch": async () => {
      const { contract, batches, beyond } = golden.sizes;
      const { design } = await readContract(bytesOf(contract));
      for (const { batch, level, bytes } of batches) {
        const one = sized(design, batch);
        same(one.mechanism.level, level, `the level of batch ${batch}`);
        const { row, cells } = unpack(one, fromHex(bytes));
        same(hex(pack(one, row, Float64Array.from(cells))), bytes, "bytes");
        if (level) await refused(() => unpack(design, fromHex(bytes)), "a report for another size");
      }
      await refused(() => sized(design, beyond), "a batch that is not there");
      const tree = JSON.parse(contract);
      tree.mechanism.apart = false;
      await refused(() => readContract(bytesOf(JSON.stringify(tree))), "a tree of shufflers");
    },
    "bits to a shuffler are flipped as often as it says, and not as 2/3 or 3/2 of that": async () => {
      const many = 4000;
      const { contract: wide, batches } = golden.sizes;
      const widest = golden.shuffled.find((one) => one.contract === wide);
      for (const { contract, high, batch } of [...golden.shuffled, ...batches.map(({ batch }) => ({ ...widest, batch }))]) {
        const { design: whole, mechanism, spec } = await readContract(bytesOf(contract));
        if (!mechanism.crowds) continue;
        const design = sized(whole, batch ?? 1);
        const [flip] = mechanism.crowds[design.mechanism.level];
        const still = { states: Array(spec.horizon + 1).fill(0), actions: Array(spec.horizon).fill(0), rewards: Array(spec.horizon).fill(0) };
        const sums = new Float64Array(design.question.width);
        for (let one = 0; one < many; one++) unpack(design, respond(design, still)).cells.forEach((cell, at) => (sums[at] += cell));
        // Cells about places without visits: all their bits are zeros that were flipped.
        const away = [...sums.keys()].filter((at) => design.question.kind === "step" ? at % (2 * spec.states) !== 0 || at >= 2 * spec.states : at > 0 && sums[at] < 0.55 * many * high[at]);
        const bits = away.reduce((sum, at) => sum + high[at] * many, 0);
        const ones = away.reduce((sum, at) => sum + sums[at], 0);
        const error = 5.2 * Math.sqrt(bits * flip * (1 - flip)); // a false alarm of 2e-7
        ok(Math.abs(ones - bits * flip) < error, `${ones} of ${bits} is not ${flip}`);
        for (const wrong of [flip * (2 / 3), Math.min(flip * 1.5, 0.5)]) ok(Math.abs(ones - bits * wrong) > error, `${ones} of ${bits} could be ${wrong}`);
      }
    },
    "a budget lets the same steps through, and their counts are the same": async () => {
      let [dropped, kinds] = [0, new Set()];
      for (const { contract, budget, episodes } of golden.budgets) {
        const { design: { question }, question: { kind } } = await readContract(bytesOf(contract));
        kinds.add(kind);
        for (const { counted, cells, earned, ...episode } of episodes) {
          if (budget) same(withinBudget(question, budget, episode), counted, "which steps are counted");
          same(count(question, episode, earned), Float64Array.from(cells), "counts");
          dropped += counted.filter((one) => !one).length;
        }
      }
      ok(dropped > 50 && kinds.size === 2, "some are left out");
    },
    "shares of noise have the variance that the contract says, and not 2/3 or 3/2 of it": async () => {
      for (const { contract } of golden.budgets) {
        const { design: whole, mechanism: { rate, honest } } = await readContract(bytesOf(contract));
        const still = { states: [0], actions: [], rewards: [] };
        for (const { level } of whole.mechanism.sizes) {
          const design = { ...whole, mechanism: whole.mechanism.sizes[level] };
          const variance = (2 * rate) / honest[level];
          let [sum, squares, draws] = [0, 0, 0];
          for (let one = 0; one < 4000; one++) {
            for (const cell of unpack(design, respond(design, still)).cells) {
              sum += cell;
              squares += cell ** 2;
              draws++;
            }
          }
          // The fourth moment is 3 v^2 + v; a false alarm of 2e-7 for either.
          const error = 5.2 * Math.sqrt((2 * variance ** 2 + variance) / draws);
          ok(Math.abs(sum / draws) < 5.2 * Math.sqrt(variance / draws), `a mean of ${sum / draws}`);
          ok(Math.abs(squares / draws - variance) < error, `${squares / draws} is not ${variance}`);
          for (const by of [2 / 3, 3 / 2]) ok(Math.abs(squares / draws - variance * by) > error, `${squares / draws} could be ${variance * by}`);
        }
      }
    },
    "shares that are too small, or for more honest people than are assumed, are refused": async () => {
      for (const { contract } of golden.budgets) {
        const good = JSON.parse(contract);
        const { mechanism, question, guarantee } = good;
        const changed = [
          { mechanism: { ...mechanism, rate: Math.floor(mechanism.rate * 0.9) } }, { mechanism: { ...mechanism, rate: mechanism.rate + 0.5 } },
          { mechanism: { ...mechanism, honest: mechanism.honest.map((one) => one + 1) } }, { mechanism: { ...mechanism, honest: [] } },
          { mechanism: { ...mechanism, width: mechanism.width + 1 } }, { mechanism: { ...mechanism, grid: 1 } },
          { question: { ...question, kind: question.kind === "bandit" ? "budgeted" : "bandit" } }, { question: { ...question, parts: ["transitions"] } },
          { question: { ...question, levels: 0 } }, { guarantee: { ...guarantee, honest: guarantee.honest / 2 } }, { guarantee: { ...guarantee, delta: 0 } },
          ...(question.budget ? [{ question: { ...question, budget: 1 } }, { question: { ...question, budget: null } }, { question: { ...question, budget: question.budget * 2 } }] : []),
        ];
        for (const change of changed) await refused(() => readContract(bytesOf(JSON.stringify({ ...good, ...change }))), JSON.stringify(change));
      }
    },
    "a ticket before the episode, then what happened at the time that was drawn; kept until the batch is closed": () =>
      timed(async (clock) => {
        for (const contract of [joint, shuffle]) {
          const { service, storage, join, types } = await opened(contract);
          const { between } = service;
          const device = await join();
          same([device.refusal, between.issued], [null, 0], "joining takes no ticket");
          const episode = await device.begin();
          same([between.issued, between.parcels.length], [1, 0], "tickets, parcels");
          const now = performance.timeOrigin + performance.now();
          ok(episode.due >= now - 1000 && episode.due < now + WINDOW, "a time in the window");
          walk(episode);
          const body = await episode.finish();
          same(await device.flush(), false, "it waits for its time");
          clock.ahead += WINDOW;
          same([await device.flush(), between.parcels.length, service.letters.length], [true, 1, 0], "it is sent to whoever stands between");
          same(between.parcels[0].slice(0, 2), [contract === joint ? "/v1/episodes" : "/v1/reports", hex(body)], "these bytes");
          same([types(), memoryOf(storage).letter.epoch], [["taken"], 1], "it is kept");
          const later = await (await join()).begin();
          same([await later.finish(), between.issued, types().at(-1)], [null, 1, "spent"], "no second ticket");
          between.closed[1] = 1;
          clock.ahead += 3600000;
          same([await device.flush(), memoryOf(storage).letter, types().at(-1), between.parcels.length], [true, null, "counted", 1], "closed");
          clock.ahead = 0;
        }
      }),
    "an episode to a curator is what happened so far, however long, in bytes of one length": () =>
      timed(async (clock) => {
        const { service, join } = await opened(joint);
        const device = await join();
        const episode = await device.begin();
        walk(episode);
        episode.act(1); // whose outcome is not known yet
        clock.ahead += WINDOW;
        const body = await episode.finish(); // as the timer does
        const { horizon } = joint.spec;
        same(body.length, 64 + 16 + 16 * horizon, "its length");
        const lived = { states: [0, 2, 1], actions: [1, 1], rewards: [1, 0] };
        same(body.slice(64), episodeBytes(device.contract.design.question, lived), "what happened");
        const [empty, still] = [[], [0]].map((states) => episodeBytes(device.contract.design.question, { states, actions: [], rewards: [] }));
        same([empty, empty.length], [still, body.length - 64], "an empty one is one that stayed where episodes begin");
        same([await device.flush(), service.between.parcels.length], [true, 1], "sent");
      }),
    "by itself, at its time, though the episode goes on": async () => {
      const { service, join } = await opened(joint, { window: { seconds: 0.2 } });
      const episode = await (await join()).begin();
      walk(episode);
      for (let tries = 0; tries < 80 && !service.between.parcels.length; tries++) await new Promise((done) => setTimeout(done, 50));
      same(service.between.parcels.length, 1, "sent");
      walk(episode);
      same(hex(await episode.finish()), service.between.parcels[0][1], "and it is the only one");
    },
    "whoever took it began anew: the same bytes are sent again, and what a closed batch lacks is dropped": () =>
      timed(async (clock) => {
        const { service, join, types } = await opened(shuffle);
        const { between } = service;
        const device = await join();
        const episode = await device.begin();
        walk(episode);
        await episode.finish();
        clock.ahead += WINDOW;
        await device.flush();
        between.epoch = 2;
        same([await device.flush(), between.parcels.length], [true, 1], "it is not asked all the time");
        clock.ahead += 3600000;
        same([await (await join()).flush(), between.parcels.length], [true, 2], "by the next visit");
        same([between.parcels[1][1], types().at(-1)], [between.parcels[0][1], "taken"], "the same bytes");
        between.status = 0;
        clock.ahead += 3600000;
        same([await device.flush(), types().at(-1)], [false, "offline"], "nobody answers");
        between.status = 202;
        between.address = "http://127.0.0.1:8002"; // and then from elsewhere
        between.closed[1] = 3; // it was closed by a third, who never had it
        clock.ahead += 3600000;
        same([await device.flush(), types().at(-1), between.parcels.length], [true, "dropped", 2], "lost");
      }),
    "a batch that does not wait after a restart is asked after all the same": () =>
      timed(async (clock) => {
        const { service, join, types } = await opened(joint, { intermediary: { ...joint.intermediary, patience: 0 } });
        const device = await join();
        await (await device.begin()).finish();
        clock.ahead += WINDOW;
        same([await device.flush(), types()], [true, ["taken"]], "taken");
        service.between.closed[1] = 1;
        clock.ahead += 1000;
        same([await device.flush(), types()], [true, ["taken", "counted"]], "closed");
      }),
    "refused for now it is kept, refused for good it is dropped": () =>
      timed(async (clock) => {
        const { service, join, types } = await opened(joint);
        const { between } = service;
        const device = await join();
        await (await device.begin()).finish();
        clock.ahead += WINDOW;
        between.status = 503;
        same([await device.flush(), types().at(-1)], [false, "offline"], "later");
        between.status = 410;
        same([await device.flush(), types().at(-1)], [true, "dropped"], "closed");
        same(new Set(between.parcels.map(([, body]) => body)).size, 1, "the same bytes");
      }),
    "cut off before its time, a person reports an empty episode at the next visit": () =>
      timed(async (clock) => {
        const { service, storage, join } = await opened(joint);
        walk(await (await join()).begin());
        const device = await join(); // another page: of the first nothing is left but that it began
        same([await device.flush(), service.between.parcels.length], [true, 0], "it may still be at it");
        cutOff(storage, URL_);
        same([await device.flush(), service.between.parcels.length], [true, 0], "its time has not come");
        clock.ahead += WINDOW + 60000;
        same([await device.flush(), service.between.parcels.length], [true, 1], "one parcel");
        const empty = episodeBytes(device.contract.design.question, { states: [], actions: [], rewards: [] });
        same(service.between.parcels[0][1].slice(128), hex(empty), "empty");
      }),
    "without a ticket nothing is spent: none left, nobody there, or one of another contract": async () => {
      for (const [spoil, type] of [
        [(between) => (between.left = 0), "full"],
        [(between) => (between.status = 0), "offline"],
        [(between) => (between.hash = new Uint8Array(32)), "refused"],
      ]) {
        const { service, join, types } = await opened(joint);
        const { address } = service.between;
        spoil(service.between);
        const device = await join();
        const episode = await device.begin();
        same([episode.act(0), await episode.finish(), types()], [1, null, [type]], type);
        Object.assign(service.between, { left: 100, status: 202, hash: null, address });
        ok(await (await device.begin()).finish(), `after ${type}, a report`);
      }
    },
    "a ticket's round is the one that is followed, also an older one; a newer one is fetched": async () => {
      const { service, join } = await opened(joint);
      const device = await join();
      await service.publish(0);
      service.between.round = 0;
      const episode = await device.begin();
      same([episode.act(0), device.round], [1, 0], "the older one");
      const other = await opened(joint);
      await other.service.publish(0);
      let asked = 0; // between the first look and the ticket a round has passed
      const slow = (url, more) => (url.endsWith("/v1/rounds/current") && !asked++ ? new Response(other.service.rounds[0]) : other.service.fetch(url, more));
      const second = await other.join({ fetch: slow });
      same([(await second.begin()).act(0), second.round], [0, 1], "the newer one");
      const third = await opened(joint);
      third.service.between.round = 7;
      const lost = await (await third.join()).begin();
      same([await lost.finish(), third.types()], [null, ["offline"]], "one that is not there");
    },
    "no ticket is taken, or followed, for a round that the witness does not know": async () => {
      for (const contract of [joint, shuffle]) {
        const { service, join, storage, types } = await opened(contract);
        const first = service.served;
        await service.publish(0);
        const shown = (url, more) => (/witness.+rounds/.test(url) ? new Response(first, { status: /rounds.1/.test(url) ? 404 : 200 }) : service.fetch(url, more));
        const device = await join({ witness: "https://witness.example", fetch: shown });
        const episode = await device.begin();
        same([episode.act(0), device.round, await episode.finish(), types()], [1, 0, null, ["offline"]], "behind");
        service.served = first; // the current round is known; the ticket's is for this device alone
        service.between.round = 1;
        const other = await device.begin();
        same([other.act(0), await other.finish(), types(), memoryOf(storage).open ?? null], [1, null, ["offline", "refused"], null], "not followed");
      }
    },
    "a ticket leads nobody to a round that the witness knows otherwise": async () => {
      for (const contract of [joint, shuffle]) {
        const { service, join, types } = await opened(contract);
        const first = service.served;
        await service.publish(1);
        const known = service.served;
        await service.publish(0, { round: 1, previous: "0".repeat(64) });
        service.served = first; // the current round is the one that all know; the ticket's is for this device alone
        service.between.round = 1;
        const shown = (url, more) => (/witness.+rounds\/1/.test(url) ? new Response(known) : service.fetch(url, more));
        const device = await join({ witness: "https://witness.example", fetch: shown });
        const episode = await device.begin();
        same([episode.act(0), device.round, await episode.finish(), types()], [1, 0, null, ["refused"]], "not followed");
      }
    },
    "a parcel survives what a proxy says, and so does one that was taken": () =>
      timed(async (clock) => {
        const { service, storage, join } = await opened(joint);
        const device = await join();
        await (await device.begin()).finish();
        const page = (status) => new Response("<html></html>", { status, headers: { "content-type": "text/html" } });
        for (const status of [202, 404, 410, 200]) {
          service.answer = () => page(status);
          clock.ahead += WINDOW;
          same([await device.flush(), Boolean(memoryOf(storage).letter)], [false, true], `after ${status}`);
        }
        service.answer = null;
        same([await device.flush(), memoryOf(storage).letter.epoch], [true, 1], "taken");
        for (const told of [{}, { closing: 1 }, { epoch: 1 }]) {
          clock.ahead += 3600000;
          const other = await join({ fetch: (url, more) => (/batches/.test(url) ? Response.json(told) : service.fetch(url, more)) });
          same([await other.flush(), memoryOf(storage).letter.epoch], [false, 1], JSON.stringify(told));
        }
        same(new Set(service.between.parcels.map(([, body]) => body)).size, 1, "the same bytes");
      }),
    "an address that the contract does not name is believed on this computer only, and one by plain http nowhere else": async () => {
      const named = (address) => ({ intermediary: { ...joint.intermediary, address } });
      for (const [changes, address, fine] of [
        [{}, "http://127.0.0.1:8001", true], [{}, "http://localhost:9", true], [{}, "https://evil.example", false],
        [named("https://curator.example"), "https://curator.example", true], [named("http://curator.example"), "http://curator.example", false],
      ]) {
        const { service, join, types } = await opened(joint, changes);
        service.between.address = address;
        const body = await (await (await join()).begin()).finish();
        same([Boolean(body), types()], fine ? [true, []] : [false, ["refused"]], address);
      }
    },
    "one report a person for all trusts of an operator": async () => {
      const { storage, join } = await opened(joint);
      ok(await (await (await join()).begin()).finish(), "to the curator");
      const local = await openService(JSON.parse(golden.designs[0].contract), { operator: joint.operator });
      const device = await Device.join("https://local.example", { pin: local.pin, storage, fetch: local.fetch });
      same([await (await device.begin()).finish(), local.letters.length], [null, 0], "and none to the collector");
    },
    "contracts of other trusts that are none are refused, and those that guarantee less than before": async () => {
      const read = (contract) => readContract(bytesOf(JSON.stringify(contract)));
      const about = joint.intermediary;
      const between = (change, from = joint) => ({ ...from, intermediary: { ...from.intermediary, ...change } });
      for (const change of [
        { ...joint, trust: "central" }, { ...joint, intermediary: undefined }, between({ role: "shuffler" }), between({ key: "AAAA" }), between({ operator: "" }),
        between({ deadline: 1 }), between({ patience: null }), { ...joint, window: { seconds: 0 } }, { ...joint, spec: { ...joint.spec, horizon: 0 } },
        between({ role: "curator" }, shuffle), { ...shuffle, mechanism: { ...shuffle.mechanism, crowds: [[0.5, 9]] } }, { ...shuffle, mechanism: { ...shuffle.mechanism, crowds: [] } },
        { ...shuffle, mechanism: { ...shuffle.mechanism, categories: 3 } }, { ...shuffle, mechanism: { ...shuffle.mechanism, mechanism: "toeplitz" } },
        { ...shuffle, question: { ...shuffle.question, kind: "counts" } }, { ...shuffle, question: { ...shuffle.question, parts: ["centred", "transitions"] } },
      ]) await refused(() => read(change), JSON.stringify(change).slice(0, 3000));
      const before = await read(joint);
      same(weaker(await read({ ...joint, version: 2 }), before), false, "the same");
      for (const next of [between({ key: toBase64(new Uint8Array(32)) }), between({ operator: joint.operator }), { ...shuffle, guarantee: { ...joint.guarantee, honest: shuffle.guarantee.honest } }]) {
        ok(weaker(await read(next), before), JSON.stringify(next.intermediary));
      }
      ok(about.operator !== joint.operator, "two operators");
      const [[flip, people]] = shuffle.mechanism.crowds;
      const flipping = (share) => read({ ...shuffle, mechanism: { ...shuffle.mechanism, crowds: [[share, people]] } });
      same([weaker(await flipping(flip / 2), await flipping(flip)), weaker(await flipping(flip), await flipping(flip / 2))], [true, false], "less noise on devices");
      ok(weaker(await read({ ...joint, window: { seconds: joint.window.seconds / 2 } }), before), "a shorter window");
    },
  };
}
