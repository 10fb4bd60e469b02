/** One person's device; index.d.ts says what each call does. */

import { fromBase64, fromHex, hex, readContract, toBase64, weaker } from "./contract.js";
import { Episode } from "./episode.js";
import { Refusal, require } from "./question.js";
import { below } from "./random.js";
import { respond } from "./report.js";
import { browserStorage, exclusive } from "./storage.js";
import { letter, readPolicy, readRound, service } from "./wire.js";

const BLANK = '{"spent":[],"services":{}}';
const LOST = 3600000; // after so many milliseconds an episode of another page was cut off

function later(wait, work) {
  const timer = setTimeout(work, Math.min(wait, 2 ** 31 - 1));
  timer.unref?.();
  return timer;
}

export class Device {
  contract = null;
  refusal = null;
  round = null;
  #url;
  #options;
  #service;
  #witness;
  #storage;
  #policy = null;
  #tries = 0;
  #timer;
  #live = new Set();
  #sending = Promise.resolve();

  constructor(url, options) {
    this.#url = String(url);
    this.#options = options;
    const at = (where) => where && service(String(where), options.fetch ?? ((...told) => fetch(...told)));
    this.#service = at(url);
    this.#witness = at(options.witness);
  }

  static async join(url, options) {
    const device = new Device(url, options ?? {});
    await device.#enter();
    device.flush();
    return device;
  }

  async begin() {
    await this.#enter();
    await this.#quietly(() => this.#follow());
    const opened = await this.#quietly(() => this.#open());
    const told = { contract: this.contract, policy: this.#policy, tell: (...event) => this.#tell(...event) };
    const episode = new Episode({ ...told, conclude: (lived) => this.#quietly(() => this.#conclude(opened, lived)) });
    if (opened?.windowed) later(opened.due - Date.now(), () => episode.finish());
    return episode;
  }

  flush() {
    this.#sending = this.#sending.then(() => this.#quietly(() => this.#send()));
    return this.#sending.then((done) => done !== false);
  }

  async #enter() {
    if (this.contract || this.refusal) return;
    try {
      const { pin, storage } = this.#options;
      require(globalThis.crypto?.subtle, "This page is neither on https nor on this computer, so nothing can be checked. Serve it over https.");
      this.#storage = storage ?? (await browserStorage());
      require(this.#storage, "A device must remember what it sent, and there is no storage here. Give it one.");
      const held = (await this.#change((memory) => memory)).contract;
      const joined = held && (await readContract(fromBase64(held)));
      this.contract = joined && (pin ?? joined.pin) === joined.pin ? joined : await this.#accept(pin, joined);
    } catch (error) {
      if (error instanceof Refusal) this.refusal = error.message;
      this.#complain(error);
    }
  }

  async #accept(pin, joined) {
    const bytes = await this.#service.get("/v1/contract");
    const shown = await readContract(bytes);
    require(!pin || shown.pin === pin, `The service shows contract ${shown.pin}, not the pinned one. Nothing is sent.`);
    require(
      !joined || !weaker(shown.promise, joined.promise),
      "The service shows a contract with a promise weaker than the one that was joined. Nothing is sent.",
    );
    await this.#change((memory) => Object.assign(memory, { contract: toBase64(bytes), head: null }));
    return shown;
  }

  /** Works on {contract, head, open, letter} of this service, and what was spent. */
  #change(work) {
    return exclusive(this.#storage, async () => {
      const all = JSON.parse((await this.#storage.get("confide")) ?? BLANK);
      const before = JSON.stringify(all);
      const result = work((all.services[this.#url] ??= {}), all.spent);
      const after = JSON.stringify(all);
      if (after !== before) await this.#storage.set("confide", after);
      return result;
    });
  }

  async #follow() {
    if (!this.contract) return;
    const { head } = await this.#change((memory) => memory);
    if (head) await this.#use(head);
    const found = await readRound(await this.#service.get("/v1/rounds/current", { cache: "no-store" }), this.contract, head);
    if (!found) return;
    // A witness that is not there proves nothing.
    const seen = await this.#witness?.get(`/v1/rounds/${found.round}`).catch(() => null);
    require(
      !seen || (await readRound(seen, this.contract)).hash === found.hash,
      `The witness knows another round ${found.round} than the service shows; it is not followed.`,
    );
    found.bytes = toBase64(await this.#service.get(`/v1/policies/${found.policy}`));
    await this.#use(found);
    await this.#change((memory) => {
      if (!(memory.head?.round > found.round)) memory.head = found;
    });
  }

  async #use(head) {
    this.#policy = await readPolicy(fromBase64(head.bytes), head.policy, this.contract.spec);
    this.round = head.round;
  }

  async #open() {
    if (!this.#policy) return null;
    const { operator, key, window } = this.contract;
    const mark = [operator, toBase64(key), this.#url];
    const opened = await this.#change((memory, spent) => {
      if (memory.head.ended || spent.some((one) => one.some((part, at) => part === mark[at]))) return null;
      spent.push(mark);
      const id = hex(crypto.getRandomValues(new Uint8Array(16)));
      const windowed = window.seconds > 0;
      return (memory.open = { id, windowed, due: Date.now() + below(Math.ceil(window.seconds * 1000)), round: memory.head.round });
    });
    if (opened) this.#live.add(opened.id);
    else this.#tell("spent", "This person has reported before: the policy is followed, and nothing is sent.");
    return opened;
  }

  #draw({ id }, lived) {
    this.#live.delete(id);
    const { design, hash } = this.contract;
    return this.#change((memory) => {
      if (memory.open?.id !== id) return null;
      const body = letter(fromHex(id), hash, memory.open.round, respond(design, lived));
      memory.letter = { due: memory.open.due, body: toBase64(body) };
      memory.open = null;
      return body;
    });
  }

  async #conclude(opened, lived) {
    const body = opened && (await this.#draw(opened, lived));
    await this.flush();
    return body;
  }

  async #send() {
    if (!this.contract) return true;
    const { open } = await this.#change((memory) => memory);
    // Whoever was cut off reports an empty episode: silence would tell.
    if (open && !this.#live.has(open.id) && open.due + LOST < Date.now()) await this.#draw(open, { states: [], actions: [], rewards: [] });
    const { letter: kept } = await this.#change((memory) => memory);
    if (!kept) return true;
    const early = kept.due - Date.now();
    if (early > 0) return this.#again(early);
    const end = await this.#service.send(fromBase64(kept.body)).catch(() => 0);
    if (typeof end === "number") {
      const wait = Math.min(2 ** this.#tries++, 3600) * (0.5 + below(1000) / 1000);
      this.#tell("offline", "The service cannot take the report now; it is kept and sent again.");
      return this.#again(1000 * (end + wait));
    }
    await this.#change((memory) => {
      if (memory.letter?.body === kept.body) memory.letter = null;
    });
    this.#tell(end, end === "counted" ? "The report was counted." : "The service refused the report for good; it is not sent again.");
    return true;
  }

  #again(wait) {
    clearTimeout(this.#timer);
    this.#timer = later(wait, () => this.flush());
    return false;
  }

  async #quietly(work) {
    try {
      return await work();
    } catch (error) {
      this.#complain(error);
      return null;
    }
  }

  #complain(error) {
    if (error instanceof Refusal) this.#tell("refused", error.message);
    else this.#tell("offline", `The service or the storage could not be used (${error?.message}).`);
  }

  #tell(type, message) {
    try {
      this.#options.onevent?.({ type, message });
    } catch {}
  }
}
