/** A device against a service: what it sends, what it refuses, and that it never throws. */

import { fromHex } from "../src/contract.js";
import { Episode } from "../src/episode.js";
import { Device, memoryStorage, readContract, respond } from "../src/index.js";
import { unpack } from "../extra/reading.js";
import { ok, same } from "./checks.js";
import { cutOff, openService, problem, timed } from "./service.js";

const URL_ = "https://tea.example";

export function cases(golden) {
  const contract = JSON.parse(golden.designs[0].contract);

  /** A service, and people who join it. */
  async function opened(changes) {
    const service = await openService(contract, changes);
    const storage = memoryStorage();
    const events = [];
    const join = (more = {}) =>
      Device.join(more.url ?? URL_, { pin: service.pin, storage, fetch: service.fetch, onevent: (event) => events.push(event), ...more });
    return { service, storage, events, join, types: () => events.map(({ type }) => type) };
  }

  async function live(device, actions = []) {
    const episode = await device.begin();
    for (let step = 0; step < 4; step++) {
      actions.push(episode.act(step % 3));
      episode.observe(step % 2, (step + 1) % 3);
    }
    return { episode, body: await episode.finish() };
  }

  return {
    "one episode, one report: a letter with an id, the contract, the round and a report that can be counted": async () => {
      const { service, join, types } = await opened();
      const device = await join();
      const actions = [];
      const { body } = await live(device, actions);
      same(actions, [1, 1, 1, 1], "the policy's actions");
      same(service.letters.length, 1, "letters");
      const letter = fromHex(service.letters[0]);
      same(letter, body, "the bytes that finish() gives back");
      same(new TextDecoder().decode(letter.slice(0, 4)), "cfl1", "its beginning");
      same(`sha256:${service.letters[0].slice(40, 104)}`, service.pin, "its contract");
      same(new DataView(letter.buffer).getUint32(52, true), 0, "its round");
      unpack(device.contract.design, letter.slice(56));
      same(types(), ["counted"], "events");
      same(await device.flush(), true, "nothing waits");
    },
    "one report a person, across episodes, visits, contracts and addresses": async () => {
      const { service, storage, join, types } = await opened();
      const device = await join();
      const first = (await live(device)).body;
      ok(first, "the first episode is reported");
      same((await live(device)).body, null, "the second episode");
      same((await live(await join())).body, null, "another visit");
      const next = await openService(contract, { version: 2 });
      const later = await Device.join(URL_, { pin: next.pin, storage, fetch: next.fetch });
      same([(await live(later)).body, later.refusal], [null, null], "another contract of the same operator");
      const moved = await Device.join("https://other.example", { pin: next.pin, storage, fetch: next.fetch });
      same((await live(moved)).body, null, "another address of the same operator");
      const other = await openService(contract, { operator: "Another company" });
      const elsewhere = await Device.join("https://coffee.example", { pin: other.pin, storage, fetch: other.fetch });
      ok((await live(elsewhere)).body, "another operator");
      same([service.letters.length, next.letters.length, other.letters.length], [1, 0, 1], "letters");
      ok(types().includes("spent"), "the host is told");
      const ids = [service, other].map(({ letters }) => letters[0].slice(8, 40));
      ok(ids[0] !== ids[1], "ids are fresh");
    },
    "two tabs at once spend one report: what one of them writes, the other one waits for": async () => {
      const { service, join } = await opened();
      const quick = memoryStorage();
      const pause = (time) => new Promise((done) => setTimeout(done, time));
      let [writing, finished] = [false, () => 0];
      const other = new Promise((done) => (finished = done));
      const storage = {
        get: quick.get,
        /** The first to spend the report writes slowly: the other one would be done by then. */
        set: async (key, text) => {
          if (!writing && text.includes('"open":{')) {
            writing = true;
            await Promise.race([other, pause(500)]);
          }
          quick.set(key, text);
        },
      };
      const first = live(await join({ storage }));
      while (!writing) await pause(1);
      const second = (await live(await join({ storage }))).body;
      finished();
      same([Boolean((await first).body), second], [true, null], "reports");
      same(new Set(service.letters).size, 1, "different letters");
    },
    "a report that was not acknowledged is sent again, the same bytes, by the next visit": async () => {
      const { service, join, types } = await opened();
      const device = await join();
      const episode = await device.begin();
      episode.act(0);
      episode.observe(1, 2);
      service.status = 503;
      const body = await episode.finish();
      same(await device.flush(), false, "it waits");
      service.status = 0;
      same(await (await join()).flush(), false, "it waits");
      service.status = 200;
      same(await (await join()).flush(), true, "nothing waits");
      const [first, ...rest] = service.letters;
      ok(rest.length >= 1 && rest.every((one) => one === first), "the same bytes every time");
      same(fromHex(first), body, "the bytes that were drawn");
      const many = service.letters.length;
      await (await join()).flush();
      same(service.letters.length, many, "it is sent no more");
      ok(types().includes("offline") && types().includes("counted"), "the host is told");
    },
    "a report that never will be counted is dropped": async () => {
      for (const status of [409, 410, 413, 422]) {
        const { service, join, types } = await opened();
        service.status = status;
        const device = await join();
        await live(device);
        same([await device.flush(), service.letters.length], [true, 1], `after ${status}`);
        ok(types().includes("dropped"), "the host is told");
      }
    },
    "what a proxy says costs nobody their report": async () => {
      const page = (status) => () => new Response("<html></html>", { status, headers: { "content-type": "text/html" } });
      const other = (status, told, type = "application/problem+json") => () => Response.json(told, { status, headers: { "content-type": type } });
      for (const answer of [
        ...[200, 201, 202, 400, 403, 404, 409, 410, 413, 415, 422].map(page), other(404, { type: "about:blank", status: 404 }), other(410, []), other(410, null),
        (hash) => problem(hash, 404, "path"), (hash) => problem(hash, 400, "http"), (hash) => problem(hash, 415, "type"), (hash) => problem(hash, 422, "round"),
        (hash) => problem(hash, 410, "ended", { contract: "0".repeat(64) }), (hash) => problem(hash, 410, "ended", { contract: undefined }),
        (hash) => problem(hash, 409, "contract", { contract: hash }), (hash) => problem(hash, 410, "ended", { status: 404 }),
        (hash) => other(410, { type: "urn:confide:problem:ended", status: 410, contract: hash }, "application/json")(), other(200, { outcome: "fine" }, "application/json"),
      ]) {
        const { service, join, types } = await opened();
        service.answer = () => answer(service.pin.slice(7));
        const device = await join();
        const { body } = await live(device);
        const { status } = service.answer();
        same([await device.flush(), types().includes("dropped"), types().includes("counted")], [false, false, false], `after ${status}`);
        service.answer = null;
        same([await device.flush(), types().at(-1)], [true, "counted"], `in the end, after ${status}`);
        same([new Set(service.letters).size, fromHex(service.letters[0])], [1, body], "the same bytes");
      }
    },
    "every call ends in time, though answers come one byte at a time or never": async () => {
      const wait = (time) => new Promise((done) => setTimeout(done, time));
      const drip = () => {
        let left = 80; // bytes, of which one comes every 50 ms
        const pull = async (into) => (await wait(50), left-- ? into.enqueue(new Uint8Array([32])) : into.close());
        return new Response(new ReadableStream({ pull }), { headers: { "content-type": "application/json" } });
      };
      const took = async (work) => {
        const start = performance.now();
        const result = await Promise.race([work(), wait(3000)]);
        const time = performance.now() - start;
        ok(time < 2500, `it took ${time} ms`);
        return result;
      };
      for (const slow of [drip, () => new Promise(() => 0)]) {
        const { service, join, types } = await opened();
        const device = await took(() => join({ timeout: 200, fetch: slow, storage: memoryStorage() }));
        same([device.contract, await (await took(() => device.begin())).finish()], [null, null], "joining");
        let ask = service.fetch;
        const quick = await join({ timeout: 1500, fetch: (...more) => ask(...more), witness: "https://witness.example" });
        ask = (url, more) => (/witness/.test(url) ? slow() : service.fetch(url, more));
        ok((await took(() => quick.begin())) && quick.round === 0, "a slow witness");
        ask = slow;
        const other = await join({ timeout: 200, fetch: (...more) => ask(...more), url: "https://other.example", storage: memoryStorage() });
        await took(() => other.begin());
        const last = await join({ timeout: 200, fetch: (...more) => ask(...more) });
        const episode = await took(() => last.begin());
        await took(() => episode.finish());
        same([await took(() => last.flush()), types().includes("offline")], [true, true], "nothing was spent there");
      }
    },
    "a round that is held is compared again when there is a witness": async () => {
      const { service, storage, join, events } = await opened();
      await (await join()).begin();
      const signed = service.served;
      await service.publish(0, { round: 0, previous: "0".repeat(64) });
      const known = service.served;
      service.served = signed;
      const witness = { witness: "https://witness.example", fetch: (url, more) => (/witness.+rounds/.test(url) ? new Response(known) : service.fetch(url, more)) };
      const device = await join(witness);
      const { body } = await live(device);
      ok(events.some(({ message }) => /witness knows another round 0/.test(message)), JSON.stringify(events));
      same([device.round, body, JSON.parse(storage.get("confide")).services[URL_].head], [null, null, null], "it is followed no more");
    },
    "another contract than the pinned one is refused, in a sentence, and nothing is sent": async () => {
      const { service, join } = await opened();
      for (const pin of [`sha256:${"0".repeat(64)}`, "sha256:", "other"]) {
        const device = await join({ pin, storage: memoryStorage() });
        ok(/not the pinned one/.test(device.refusal), device.refusal);
        same([(await live(device)).body, device.contract], [null, null], "no report");
      }
      same(service.letters.length, 0, "letters");
    },
    "a contract that does not keep its guarantee is refused": async () => {
      const { service, join } = await opened({ mechanism: { ...contract.mechanism, epsilon: contract.mechanism.epsilon * 1.001 } });
      const device = await join();
      ok(/does not keep its guarantee/.test(device.refusal), device.refusal);
      same([(await live(device)).body, service.letters.length], [null, 0], "no report");
    },
    "a guarantee weaker than the one that was joined is refused, a stronger one is not": async () => {
      const { storage } = await opened();
      const guaranteed = async (epsilon, more) => {
        const told = { ...contract, guarantee: { epsilon, delta: 0, rho: null }, mechanism: { ...contract.mechanism, epsilon } };
        const service = await openService(told, more);
        return Device.join(URL_, { pin: service.pin, storage, fetch: service.fetch });
      };
      same((await guaranteed(2)).refusal, null, "the first");
      same((await guaranteed(1.5)).refusal, null, "a stronger one");
      ok(/weaker/.test((await guaranteed(2)).refusal), "a weaker one");
      ok(/weaker/.test((await guaranteed(1.4, { guarantee: { epsilon: null, delta: 0, rho: 1.4 } })).refusal), "one that cannot be compared");
    },
    "a policy with another hash, or a round that is not signed, is refused with a sentence and not followed": async () => {
      const { service, join, events } = await opened();
      const device = await join();
      const [name] = Object.keys(service.policies);
      service.policies[name] = service.policies[name].slice().fill(0, 17);
      await device.begin();
      ok(device.round === null && /not the one it signed/.test(events.at(-1)?.message), JSON.stringify(events));
      const { served } = service;
      const told = JSON.parse(served);
      service.served = JSON.stringify({ ...told, head: btoa(atob(told.head).replace('"round":0', '"round":1')) });
      await device.begin();
      ok(device.round === null && /not signed by/.test(events.at(-1).message), JSON.stringify(events));
      service.served = served;
      service.policies[name].fill(1, 17);
      await device.begin();
      same(device.round, 0, "the good one is followed");
    },
    "rounds go forward only, in one chain, and there is one policy for a round": async () => {
      const { service, join, events } = await opened();
      const device = await join();
      await device.begin();
      const old = service.served;
      await service.publish(0);
      const episode = await device.begin();
      same([device.round, episode.act(0)], [1, 0], "the next round");
      const { head } = service;
      for (const [what, work] of [
        ["back", () => (service.served = old)],
        ["two for one", () => service.publish(1, { round: 1, people: 5 })],
        ["another chain", () => service.publish(1, { round: 2, previous: "1".repeat(64) })],
        ["another contract", () => service.publish(1, { round: 3, contract: "1".repeat(64) })],
      ]) {
        await work();
        events.length = 0;
        same([(await device.begin()).act(0), device.round], [0, 1], what);
        ok(/does not follow/.test(events[0]?.message), what);
      }
      await service.publish(1, { round: 2, previous: head });
      same([(await device.begin()).act(0), device.round], [1, 2], "the right one");
    },
    "rounds that were missed are read, and the highest is never forgotten": async () => {
      const { service, storage, join, events } = await opened();
      await (await join()).begin();
      for (const action of [0, 1, 0]) await service.publish(action);
      const device = await join();
      await device.begin();
      same(device.round, 3, "three later");
      const [third, old] = [service.head, service.rounds[1]];
      const memory = JSON.parse(storage.get("confide"));
      memory.services[URL_].head = null; // what a witness leaves that knows another
      storage.set("confide", JSON.stringify(memory));
      const wrong = async (what) => {
        events.length = 0;
        const again = await join();
        await again.begin();
        same([again.round, /does not follow/.test(events[0]?.message)], [null, true], what);
      };
      service.served = old;
      await wrong("everything was restored");
      await service.publish(1, { round: 4, previous: "1".repeat(64) });
      await service.publish(1, { round: 5 });
      await wrong("and has come further than before");
      await service.publish(1, { round: 4, previous: third });
      await service.publish(0, { round: 5 });
      const last = await join();
      await last.begin();
      same(last.round, 5, "the right chain");
    },
    "without the service a device goes on with the last policy it has, and after the end nothing is reported": async () => {
      const { service, join } = await opened();
      const first = await join();
      await first.begin();
      service.status = 0;
      const device = await join();
      same([(await device.begin()).act(2), device.round], [1, 0], "offline");
      const ended = await opened();
      await ended.service.publish(0, { ended: true });
      const last = await ended.join();
      const actions = [];
      same([(await live(last, actions)).body, actions], [null, [0, 0, 0, 0]], "after the end");
    },
    "a pair is drawn by the law of its round, which must be the signed one": async () => {
      const { contract: text, bytes } = golden.laws[0];
      const only = fromHex(bytes).fill(0, 20);
      only[20 + 8 * 3] = 9;
      for (const [law, more, good] of [
        [only, {}, true], [fromHex(bytes).fill(0, 20), {}, false], [fromHex(bytes).fill(255, 20), {}, false], [only, { question: "0".repeat(64) }, false],
        [null, { law: [-1, 2] }, null],
      ]) {
        const service = await openService(JSON.parse(text));
        await service.publish(1, more, law);
        const events = [];
        const device = await Device.join(URL_, { pin: service.pin, storage: memoryStorage(), fetch: service.fetch, onevent: ({ type }) => events.push(type) });
        const { body } = await live(device);
        same([Boolean(body), events], good === false ? [false, ["refused"]] : [true, ["counted"]], `a law ${JSON.stringify(more)}`);
        if (body) {
          const { row } = unpack(device.contract.design, body.slice(56));
          ok(good ? row === 3 : row < device.contract.design.question.rows, `pair ${row}`);
        }
      }
    },
    "a policy of chances is drawn from": async () => {
      const { service, join } = await opened();
      await service.publish([0.25, 0.75]);
      const episode = await (await join()).begin();
      const counts = [0, 0];
      for (let one = 0; one < 2000; one++) counts[episode.act(0)]++;
      ok(Math.abs(counts[0] - 500) < 110, `${counts}`); // 5.7 standard deviations: a false alarm of 1e-8
    },
    "of several policies a person follows one, drawn at random": async () => {
      const { service, join } = await opened();
      await service.publishSeveral(0, 1);
      const device = await join();
      const counts = [0, 0];
      for (let one = 0; one < 60; one++) {
        const episode = await device.begin();
        const actions = [0, 1, 2].map((state) => episode.act(state));
        ok(new Set(actions).size === 1, "one policy for an episode");
        counts[actions[0]]++;
      }
      ok(counts[0] > 5 && counts[1] > 5, `${counts}`); // a false alarm of 1e-11
      const [name] = Object.entries(service.policies).find(([, bytes]) => bytes[2] === 0x6d);
      service.policies[name] = service.policies[name].slice(0, -1);
      same([(await (await join({ storage: memoryStorage() })).begin()).act(0) < 2, device.round], [true, 3], "cut off");
    },
    "a contract that has ended is followed by the one that its last round names, and by none other": async () => {
      const { service, storage, join } = await opened();
      const next = await openService(contract, { version: 2 });
      await service.publish(0, { ended: true, successor: next.pin.slice(7) });
      const device = await join();
      await device.begin();
      const again = (fetch) => Device.join(URL_, { storage, fetch });
      same((await again(service.fetch)).contract.version, 1, "it is not there yet");
      same((await again(async () => Promise.reject(new TypeError("nobody")))).contract.version, 1, "nobody answers");
      const other = await openService(contract, { version: 3 });
      ok(/not the pinned one/.test((await again(other.fetch)).refusal), "another one");
      const later = await again(next.fetch);
      same([later.contract.version, later.contract.pin], [2, next.pin], "the one that follows");
      ok(await (await later.begin()).finish(), "a report, since none was sent before");
    },
    "labels may be used for states and actions": async () => {
      const { join, events } = await opened();
      const episode = await (await join()).begin();
      same(episode.act("s2"), "a1", "an action");
      episode.observe(1, "s0");
      ok(await episode.finish(), "a report");
      same(events.map(({ type }) => type), ["counted"], "events");
    },
    "what happened is what is reported": async () => {
      // With next to no noise (epsilon 60) a report tells its step.
      const epsilon = 60;
      const told = { ...contract, guarantee: { epsilon, delta: 0, rho: null }, spec: { ...contract.spec, horizon: 1 } };
      const mechanism = { ...contract.mechanism, epsilon, encoding: "k-ary" };
      const stories = [
        [(e) => (e.act(2), e.observe(1, 1)), ((2 * 2 + 1) * 3 + 1) * 2 + 1],
        [(e) => (e.act(2), e.observe(0, 1), e.act(1), e.observe(1, 2)), ((2 * 2 + 1) * 3 + 1) * 2], // beyond the horizon
        [(e) => (e.act(2), e.observe(1), e.act(0)), ((2 * 2 + 1) * 3 + 0) * 2 + 1], // given by the next act
        [(e) => (e.act(1), e.act(2), e.observe(1, 1)), ((2 * 2 + 1) * 3 + 1) * 2 + 1], // asked twice
        [(e) => (e.act(2), e.observe(1)), 36], // the state after it is unknown
        [(e) => e.act(2), 36], // no outcome
        [(e) => (e.act(9), e.observe(1, 0)), 36],
        [() => 0, 36],
        [(e) => (e.act(2), e.observe(1, 9)), 36],
        [(e) => (e.act(2), e.observe(1), e.act(9), e.act(0)), 36], // nothing counts after a state that is none
        [(e) => (e.act(2), e.observe(17, 1)), ((2 * 2 + 1) * 3 + 1) * 2 + 1], // clipped
        [(e) => (e.act(2), e.observe(NaN, 1)), ((2 * 2 + 1) * 3 + 1) * 2],
      ];
      for (const [story, category] of stories) {
        const service = await openService(told, { mechanism });
        const device = await Device.join(URL_, { pin: service.pin, storage: memoryStorage(), fetch: service.fetch });
        const episode = await device.begin();
        story(episode);
        const body = await episode.finish();
        same(unpack(device.contract.design, body.slice(56)).cells.indexOf(1), category, String(story));
      }
    },
    "a window: the time is drawn before, and at that time what happened so far is reported": async () => {
      const { service, join } = await opened({ window: { seconds: 0.6 } });
      const device = await join();
      const episode = await device.begin();
      episode.act(0);
      const body = await episode.finish();
      ok(body, "it is drawn at once");
      for (let tries = 0; tries < 60 && !service.letters.length; tries++) await new Promise((done) => setTimeout(done, 50));
      same(service.letters.length, 1, "and sent by itself");
      const wide = await opened({ window: { seconds: 1e6 } }); // due within a second with a chance of 1e-6
      const early = await wide.join();
      ok((await live(early)).body, "it is drawn");
      same([await early.flush(), wide.service.letters.length], [false, 0], "and not sent before its time");
      const memory = JSON.parse(wide.storage.get("confide"));
      ok(memory.services[URL_].letter.due < Date.now() + 1e9, "which is within the window");
      memory.services[URL_].letter.due = 0;
      wide.storage.set("confide", JSON.stringify(memory));
      same([await (await wide.join()).flush(), wide.service.letters.length], [true, 1], "but at it, by the next visit");
      const second = await opened({ window: { seconds: 0.3 } });
      const slow = await (await second.join()).begin();
      slow.act(0);
      for (let tries = 0; tries < 60 && !second.service.letters.length; tries++) await new Promise((done) => setTimeout(done, 50));
      same(second.service.letters.length, 1, "though the episode is not finished");
      slow.observe(1, 1);
      same(fromHex(second.service.letters[0]), await slow.finish(), "and it is the only report");
    },
    "a person who was cut off reports an empty episode, an hour later": async () => {
      const { service, storage, join, types } = await opened();
      const slow = await (await join()).begin();
      await (await join()).flush();
      same(service.letters.length, 0, "another page may still be at it");
      cutOff(storage, URL_, 3700000);
      const device = await join();
      await device.flush();
      same(service.letters.length, 1, "one report");
      unpack(device.contract.design, fromHex(service.letters[0]).slice(56));
      same([await slow.finish(), service.letters.length], [null, 1], "a page that comes back later reports no more");
      same(types(), ["counted"], "events");
    },
    "without a secure page or a storage it refuses in a sentence": async () => {
      const { join } = await opened();
      const whole = globalThis.crypto;
      const described = Object.getOwnPropertyDescriptor(globalThis, "crypto");
      try {
        Object.defineProperty(globalThis, "crypto", { configurable: true, value: { getRandomValues: (into) => whole.getRandomValues(into) } });
        const device = await join({ storage: memoryStorage() });
        ok(/https/.test(device.refusal), device.refusal);
        same((await device.begin()).act(0), 0, "it goes on");
      } finally {
        Object.defineProperty(globalThis, "crypto", described);
      }
      if (!globalThis.indexedDB) ok(/storage/.test((await join({ storage: null })).refusal), "no storage");
    },
    "a round that the witness knows otherwise is not followed": async () => {
      const { service } = await opened();
      const honest = service.served;
      await service.publish(0, { round: 0, previous: "0".repeat(64) });
      const other = service.served;
      const shown = (url, more) => (/witness.+rounds/.test(url) ? witness(url) : service.fetch(url, more));
      const told = [];
      const joined = () =>
        Device.join("https://tea.invalid", { pin: service.pin, storage: memoryStorage(), witness: "https://witness.invalid/", fetch: shown, onevent: ({ message }) => told.push(message) });
      let asked = null;
      let witness = async (url) => new Response((asked = url) && honest);
      const device = await joined();
      await device.begin();
      same([device.round, asked], [null, "https://witness.invalid/v1/rounds/0"], "followed");
      ok(told.some((text) => /witness knows another round 0/.test(text)), told.join());
      witness = async () => new Response(other);
      const second = await joined();
      await second.begin();
      same(second.round, 0, "the same round");
      for (const status of [500, 503, 429]) {
        witness = async () => new Response("", { status });
        const third = await joined();
        await third.begin();
        same(third.round, 0, "a witness that is not there");
      }
    },
    "a round that the witness does not know is not followed, but the latest that it knows": async () => {
      const { service, join, storage, events } = await opened();
      const first = service.served;
      await service.publish(0);
      let known = {};
      const ask = (url) => known[url.split("/rounds/")[1]] ?? "";
      const shown = (url, more) => (/witness.+rounds/.test(url) ? new Response(ask(url), { status: ask(url) ? 200 : 404 }) : service.fetch(url, more));
      const device = await join({ witness: "https://witness.example", fetch: shown });
      await device.begin();
      same([device.round, JSON.parse(storage.get("confide")).spent], [null, []], "nothing is known");
      ok(events.some(({ message }) => /witness does not know round 1/.test(message)), JSON.stringify(events));
      known = { 0: first, current: first };
      await device.begin();
      same(device.round, 0, "the latest that is known");
      known = { 0: first, 1: service.served, current: service.served };
      await device.begin();
      same(device.round, 1, "and the next");
      known = { 0: first, current: first };
      await device.begin();
      same(device.round, 0, "what was followed before");
      known = {};
      await device.begin();
      known = { 1: first, current: service.served };
      await device.begin();
      ok(events.some(({ message }) => /witness knows another round 1/.test(message)), "another round");
    },
    "what was done instead is what is reported, up to an action that is none": async () => {
      const told = [];
      const parts = { contract: await readContract(new TextEncoder().encode(JSON.stringify(contract))), policy: () => [0, 1], tell: (type) => told.push(type) };
      const { labels } = parts.contract;
      const episode = new Episode({ ...parts, conclude: (lived) => lived });
      same(episode.act(0), 1, "advised");
      episode.observe(0, 1, 0);
      same(episode.act(labels.states[1]), labels.actions[1], "advised by name");
      episode.observe(1, 2, labels.actions[0]);
      episode.act(2);
      episode.observe(0, 0);
      episode.act(0);
      episode.observe(0, 0, "no such action");
      episode.act(0);
      episode.observe(1, 1);
      same([episode.finish(), told], [{ states: [0, 1, 2, 0], actions: [0, 0, 1], rewards: [0, 1, 0] }, ["input"]], "lived");
    },
    "nothing is ever thrown into the host": async () => {
      const { service } = await opened();
      const failing = () => {
        throw new Error("broken");
      };
      const junk = [undefined, null, NaN, -1, 1e9, "x", {}, [], Symbol.iterator, 2n];
      for (const options of [
        undefined, null, {}, { pin: 5 }, ...[0, -1, Infinity, 1e99, "soon", {}].map((timeout) => ({ timeout })), { pin: service.pin, storage: { get: failing, set: failing } },
        { pin: service.pin, storage: { get: () => null, set: async () => failing() }, fetch: service.fetch },
        { pin: service.pin, storage: { get: () => "not JSON", set: () => 0 }, fetch: service.fetch },
        { pin: service.pin, storage: memoryStorage(), fetch: failing },
        { pin: service.pin, storage: memoryStorage(), fetch: async () => new Response("not JSON") },
        { pin: service.pin, storage: memoryStorage(), fetch: async () => new Response("{}", { status: 500 }) },
        { pin: service.pin, storage: memoryStorage(), fetch: service.fetch, onevent: failing },
      ]) {
        const device = await Device.join("https://tea.invalid", options && { fetch: failing, ...options });
        const episode = await device.begin();
        for (const one of junk) {
          ok([0, 1].includes(episode.act(one)) || typeof one === "string", "an action");
          episode.observe(one, one);
        }
        await episode.finish();
        await device.flush();
        const honest = await device.begin();
        for (const one of junk) {
          honest.act(0);
          honest.observe(one, one);
        }
        await honest.finish();
      }
    },
    "a report takes less than a millisecond at S = 10, A = 4, H = 20": async () => {
      const spec = { states: 10, actions: 4, horizon: 20, model: "stationary" };
      const episode = { states: Array.from({ length: 21 }, (_, at) => at % 10), actions: Array(20).fill(2), rewards: Array(20).fill(0.4) };
      for (const [encoding, epsilon] of [["unary", 2], ["k-ary", 6]]) {
        const told = { ...contract, spec, mechanism: { mechanism: "categories", epsilon, categories: 801, encoding } };
        told.guarantee = { epsilon, delta: 0, rho: null };
        told.labels = { states: Array(10).fill("s"), actions: Array(4).fill("a") };
        const { design } = await readContract(new TextEncoder().encode(JSON.stringify(told)));
        const times = [];
        for (let one = 0; one < 300; one++) {
          const start = performance.now();
          for (let ten = 0; ten < 10; ten++) respond(design, episode);
          times.push((performance.now() - start) / 10);
        }
        const median = times.sort((a, b) => a - b)[150];
        globalThis.confideTimes = { ...globalThis.confideTimes, [encoding]: median };
        ok(median < 1, `a ${encoding} report takes ${median} ms`);
      }
    },
  };
}
