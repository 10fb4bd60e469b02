/** What a device remembers in a page: one report, whatever becomes of its stores, its clock and its tabs. */

import { browserStorage, Device, memoryStorage } from "../src/index.js";
import { ok, same } from "./checks.js";
import { cutOff, openService, timed } from "./service.js";

const WINDOW = 50000;
const later = (work) => setTimeout(work, 0);

/** An IndexedDB of one store, for Node. */
function fakeDatabase() {
  const kept = new Map();
  const asked = (result, more = {}) => {
    const request = { result, ...more };
    later(() => request.onsuccess?.());
    return request;
  };
  const objectStore = () => ({
    get: (key) => asked(kept.get(key)),
    put: (text, key) => {
      const transaction = {};
      kept.set(key, text);
      later(() => transaction.oncomplete());
      return { transaction };
    },
  });
  return { open: () => asked({ transaction: () => ({ objectStore }) }) };
}

/** Something global, in place of what is there while work is done. */
async function replaced(name, described, work) {
  const whole = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { configurable: true, ...described });
  try {
    return await work();
  } finally {
    if (whole) Object.defineProperty(globalThis, name, whole);
    else delete globalThis[name];
  }
}

/** In a page, with its own stores; in Node, as in one. */
function inPage(work) {
  if (globalThis.indexedDB) return work();
  const kept = memoryStorage();
  const localStorage = { getItem: kept.get, setItem: kept.set, removeItem: (key) => kept.set(key, null) };
  return replaced("indexedDB", { value: fakeDatabase() }, () => replaced("window", { value: { localStorage } }, work));
}

const refuse = () => {
  throw new Error("blocked");
};
const failing = () => {
  const request = { error: new Error("blocked") };
  later(() => request.onerror());
  return request;
};
const withoutDatabase = (open) => (work) => replaced("indexedDB", { value: { open } }, work);
const withoutLocal = (described) => (work) => {
  const page = globalThis.window;
  // In a browser `window` cannot be replaced, but what it has can.
  const whole = Object.getOwnPropertyDescriptor(page, "localStorage");
  Object.defineProperty(page, "localStorage", { configurable: true, ...described });
  return Promise.resolve(work()).finally(() => Object.defineProperty(page, "localStorage", whole));
};
const BROKEN = {
  "IndexedDB that throws": withoutDatabase(refuse),
  "IndexedDB that fails": withoutDatabase(failing),
  "localStorage that throws": withoutLocal({ get: refuse }),
  "no localStorage": withoutLocal({ value: null }),
};

export function cases(golden) {
  const contract = JSON.parse(golden.designs[0].contract);

  /** A new service, and visits to it: each by a page of its own, with the stores of a page. */
  async function opened(changes) {
    const name = crypto.randomUUID();
    const url = `https://${name}.example`;
    const service = await openService(contract, { operator: name, ...changes });
    const events = [];
    const join = (more = {}) => Device.join(url, { pin: service.pin, fetch: service.fetch, onevent: (event) => events.push(event), ...more });
    const visit = async (device) => {
      events.length = 0;
      const episode = await (device ?? (await join())).begin();
      return [episode.act(0), Boolean(await episode.finish()), events.map(({ type }) => type)];
    };
    return { url, service, events, join, visit };
  }

  return {
    "one report, though a store cannot be read at the next visit": () =>
      inPage(async () => {
        for (const [name, broken] of Object.entries(BROKEN)) {
          const { service, events, visit } = await opened();
          same(await visit(), [1, true, ["counted"]], "the first visit");
          same(await broken(() => visit()), [1, false, ["offline"]], `with ${name}`);
          ok(/cannot be read/.test(events[0].message), events[0].message);
          same([await visit(), service.letters.length], [[1, false, ["spent"]], 1], "the next one");
        }
      }),
    "nothing is spent where a store cannot be read, and one report is sent when it can": () =>
      inPage(async () => {
        for (const [name, broken] of Object.entries(BROKEN)) {
          const { service, join, visit } = await opened();
          const device = await broken(join);
          same(await broken(() => visit(device)), [1, false, ["offline"]], `with ${name}`);
          same([await visit(device), service.letters.length], [[1, true, ["counted"]], 1], "by the same page, later");
          same([await visit(), service.letters.length], [[1, false, ["spent"]], 1], "by the next one");
        }
      }),
    "one report, though one of the two stores was emptied": () =>
      inPage(async () => {
        const { service, visit } = await opened();
        same(await visit(), [1, true, ["counted"]], "the first visit");
        const { localStorage } = globalThis.window;
        const marks = localStorage.getItem("confide");
        localStorage.removeItem("confide");
        same(await visit(), [1, false, ["spent"]], "by IndexedDB");
        localStorage.setItem("confide", "{}");
        await (await browserStorage()).set("confide", '{"spent":[],"services":{}}'); // which adds nothing to what is in localStorage
        localStorage.setItem("confide", marks);
        same([await visit(), service.letters.length], [[1, false, ["spent"]], 1], "by localStorage");
      }),
    "what was spent stands in both stores before anything is sent": () =>
      inPage(async () => {
        const { url, service, join, visit } = await opened();
        const seen = [];
        const fetch = async (where, more) => {
          const stored = await (await browserStorage()).get("confide");
          if (more?.method === "POST") seen.push([stored, globalThis.window.localStorage.getItem("confide")].map((text) => JSON.parse(text).spent.some((mark) => mark.includes(url))));
          return service.fetch(where, more);
        };
        same(await visit(await join({ fetch })), [1, true, ["counted"]], "the visit");
        same(seen, [[true, true]], "stores that knew");
      }),
    "an operator stays who it is by any of name, key and address": async () => {
      for (const [name, keyed, moved] of [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => [1, 2, 4].map((bit) => Boolean(bits & bit)))) {
        const storage = memoryStorage();
        const first = await openService(contract, { operator: "Tea Ltd" });
        const next = await openService(contract, { operator: name ? "Coffee Ltd" : "Tea Ltd", version: 2 }, keyed ? null : first.keys);
        const visit = async ({ pin, fetch }, url) => Boolean(await (await (await Device.join(url, { pin, fetch, storage })).begin()).finish());
        same(await visit(first, "https://tea.example"), true, "the first");
        same(await visit(next, moved ? "https://coffee.example" : "https://tea.example"), name && keyed && moved, `another ${[name, keyed, moved]}`);
      }
    },
    "a clock that was ahead delays a report by one window at most": () =>
      timed(async (clock) => {
        for (const finished of [true, false]) {
          const storage = memoryStorage();
          const { url, service, join } = await opened({ window: { seconds: WINDOW / 1000 } });
          clock.ahead = 3e10; // a year
          const episode = await (await join({ storage })).begin();
          if (finished) await episode.finish();
          else cutOff(storage, url);
          clock.ahead = 0;
          const device = await join({ storage });
          same([await device.flush(), service.letters.length], [!finished, 0], "put right");
          const [waiting] = Object.values(JSON.parse(storage.get("confide")).services).map(({ open, letter }) => open ?? letter);
          const left = waiting.due - performance.timeOrigin - performance.now();
          ok(left > -1000 && left <= WINDOW, `${left} is not within the window`);
          clock.ahead = WINDOW + (finished ? 0 : 60000);
          same([await device.flush(), service.letters.length], [true, 1], "a window later");
        }
      }),
    "the machine's clock may be put right while a page is open: the time of sending stays": async () => {
      const { now } = Date;
      const storage = memoryStorage();
      const { url, service, join } = await opened({ window: { seconds: WINDOW / 1000 } });
      const device = await join({ storage });
      let episode;
      try {
        Date.now = () => now() + 3e10;
        episode = await device.begin();
      } finally {
        Date.now = now;
      }
      const left = episode.due - performance.timeOrigin - performance.now();
      ok(left > -1000 && left <= WINDOW, `${left} is not within the window`);
      const memory = () => JSON.parse(storage.get("confide")).services[url];
      await episode.finish();
      same([memory().letter.due, service.letters.length], [episode.due, 0], "drawn before the episode, and kept to");
      await timed(async (clock) => {
        clock.ahead = left - 500;
        same([await device.flush(), service.letters.length], [false, 0], "not before its time");
        clock.ahead = left + 500;
        same([await device.flush(), service.letters.length], [true, 1], "at its time");
      });
    },
    "an episode that goes on for hours in one tab is not replaced by an empty one in another": () =>
      timed(async (clock) => {
        const storage = memoryStorage();
        const { service, join } = await opened();
        const timers = [];
        const wait = globalThis.setTimeout;
        const kept = (work, time) => (time < 60000 ? wait(work, time) : { number: timers.push({ work, at: clock.ahead + time }), unref: () => 0 });
        await replaced("setTimeout", { value: kept, writable: true }, async () => {
          const first = await (await join({ storage })).begin();
          first.act(0);
          first.observe(1, 1);
          const second = await join({ storage });
          for (let quarter = 0; quarter < 20; quarter++) {
            clock.ahead += 900000;
            for (const one of timers.splice(0)) one.at <= clock.ahead ? await one.work() : timers.push(one);
            await new Promise((done) => wait(done, 2));
            await second.flush();
            same(service.letters.length, 0, `after ${(quarter + 1) / 4} hours`);
          }
          const body = await first.finish();
          ok(body && service.letters.length === 1, "what happened is what is reported");
        });
      }),
  };
}
