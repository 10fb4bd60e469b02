/** People who come again: as often as the contract prices, in batches far enough apart, as Python's devices do. */

import { hex, readContract, weaker } from "../src/contract.js";
import { Device, memoryStorage } from "../src/index.js";
import { keepsAll } from "../src/returning.js";
import { signed } from "../src/tokens.js";
import { bytesOf, ok, refused, same } from "./checks.js";
import { openService, timed } from "./service.js";

const URL_ = "https://tea.example";

export function cases({ returning }) {
  const mark = ["Tea Ltd", "key", URL_];
  async function opened(text) {
    const service = await openService(JSON.parse(text));
    const storage = memoryStorage();
    const visit = async () => {
      const device = await Device.join(URL_, { pin: service.pin, storage, fetch: service.fetch });
      const episode = await device.begin();
      episode.act(0);
      episode.observe(1, 1);
      const body = await episode.finish();
      return Boolean(body);
    };
    return { service, storage, visit };
  }

  return {
    "people may be in the batches where they may in Python": async () => {
      for (const { contract, rows } of returning.visits) {
        const { again, pin } = await readContract(bytesOf(contract));
        for (const [had, batch, may] of rows) {
          const spent = had.map((one) => [...mark, pin, one]);
          same(!again.over({}, spent, mark, batch), may, JSON.stringify([contract.slice(0, 60), had, batch]));
        }
        ok(again.over({ open: {} }, [], mark, 1) && again.over({ letter: {} }, [], mark, 1), "one at a time");
        ok(again.over({}, [[...mark]], mark, 6) && again.over({}, [[...mark, "sha256:", 1]], mark, 6), "who took part in another contract does so in no other");
        same(again.mark([], mark, 4), [...mark, pin, 4], "the mark");
      }
    },
    "in a period people may come as often as in Python, whatever they did before it": async () => {
      for (const { contract, rows } of returning.renewals) {
        const service = await openService(JSON.parse(contract));
        const { again, pin, key } = await readContract(service.contract);
        await again.follow(async (work) => work({}, []), mark, null, 7.5 * 3600000, { get: async () => service.begun(7) }, (error) => ok(false, error.message));
        ok(key.length === 32, "a key");
        for (const [had, batch, may] of rows) {
          const spent = had.map(([one, when]) => [...mark, pin, one, when, 3600]);
          same(!again.over({}, spent, mark, batch), may, JSON.stringify([contract.slice(0, 60), had, batch]));
        }
        same(again.over({}, [[...mark, "sha256:", 1, 6, 3600]], mark, 6), false, "another contract, in an earlier period");
        for (const other of [[7, 3600], [6, 60], []]) ok(again.over({}, [[...mark, "sha256:", 1, ...other]], mark, 6), "another contract, not renewed");
        same(again.mark([], mark, 4), [...mark, pin, 4, 7, 3600], "the mark");
      }
    },
    "a period has begun when the service has signed so and this device's clock says so": async () => {
      const service = await openService(JSON.parse(returning.renewals.at(-1).contract));
      const { again, pin } = await readContract(service.contract);
      const now = async (own, signed, spent = [], memory = {}, fine = true) => {
        let failed = false;
        const get = async () => (signed == null ? Promise.reject(new Error("away")) : typeof signed === "number" ? service.begun(signed) : signed);
        await again.follow(async (work) => work(memory, spent), mark, null, (own + 0.5) * 3600000, { get }, () => (failed = true));
        same(failed, !fine, "what failed");
        return again.mark([], mark, 1)[5];
      };
      const visit = (period) => [[...mark, pin, 1, period, 3600]];
      same(await now(7, 7), 7, "both");
      same(await now(7, 9), 7, "the service's clock was put forward");
      same(await now(9, 7), 7, "this device's was");
      same(await now(7, null, [], {}, false), 0, "nothing was ever heard");
      same(await now(7, null, [], { period: { pin, number: 6 } }, false), 6, "what was signed before");
      same(await now(3, 3, visit(5)), 5, "no period before that of a visit");
      const other = await openService(JSON.parse(returning.renewals.at(-1).contract));
      same(await now(7, await other.begun(7), [], {}, false), 0, "by another key");
      const [stranger, weak] = [await readContract(other.contract), JSON.parse(returning.renewals.at(-1).contract)];
      const [daily, never] = [{ ...stranger, period: { seconds: 86400 } }, { ...stranger, period: undefined, again: undefined }];
      ok(weaker(stranger, daily) && weaker(stranger, never) && !weaker(stranger, stranger) && !weaker(never, stranger), "sooner is weaker");
      for (const period of [{ seconds: 0 }, { seconds: 1.5 }, { seconds: 60, more: 1 }, { seconds: 1e12 }]) await refused(() => readContract(bytesOf(JSON.stringify({ ...weak, period }))), "no period");
    },
    "the token of a slot is bound to its key and its number": async () => {
      for (const { contract, signed: wanted } of returning.visits) {
        const told = await readContract(bytesOf(contract));
        for (const [slot, bytes] of wanted.entries()) same(hex(await signed(told, Uint8Array.from({ length: 32 }, (_, at) => at), slot)), bytes, `slot ${slot}`);
      }
    },
    "several reports of a person keep the guarantee together, or the contract is refused": async () => {
      for (const contract of returning.kept) ok((await readContract(bytesOf(contract))).again, "kept");
      for (const contract of returning.weak) await refused(() => readContract(bytesOf(contract)), "weak");
      for (const [epsilon, guaranteed, times, delta] of returning.deltas) {
        ok(keepsAll({ epsilon }, { epsilon: guaranteed, delta: delta * (1 + 1e-9) + 1e-300 }, times), `${[epsilon, guaranteed, times]} keeps ${delta}`);
        if (delta > 1e-12) ok(!keepsAll({ epsilon }, { epsilon: guaranteed, delta: delta * (1 - 1e-6) }, times), "and no less");
      }
    },
    "as many reports as are priced, and not one more": async () => {
      const { service, visit } = await opened(returning.kept[0]); // two
      const found = [];
      for (let one = 0; one < 4; one++) found.push(await visit());
      same([found, service.letters.length], [[true, true, false, false], 2], "visits");
      ok(service.letters[0].slice(8, 40) !== service.letters[1].slice(8, 40), "each has an id of its own");
    },
    "a report that waits is sent before another episode is reported": async () => {
      const { service, visit } = await opened(returning.kept[0]);
      service.status = 503;
      ok(await visit(), "the first");
      same(await visit(), false, "it waits");
      service.status = 201;
      ok(await visit(), "it was sent");
      same(new Set(service.letters).size, 2, "two reports");
    },
    "a page comes again when its batches are far enough apart, and takes no ticket that it could not use": () =>
      timed(async (clock) => {
        const { service, visit } = await opened(returning.visits[0].contract); // twice, three apart
        const { between } = service;
        const found = [];
        for (between.batch = 1; between.batch <= 6; between.batch++) {
          const issued = between.issued;
          found.push(await visit());
          same(between.issued - issued, Number(found.at(-1)), "tickets");
          clock.ahead += 3600000;
          await visit(); // sends what is due
          between.closed[between.batch] = 1;
          clock.ahead += 3600000;
        }
        same(found, [true, false, false, true, false, false], "batches 1 and 4");
      }),
  };
}
