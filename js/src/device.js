/** One person's device; index.d.ts says what each call does. */

import { fromBase64, fromHex, hex, readContract, toBase64, weaker } from "./contract.js";
import { Episode } from "./episode.js";
import { Refusal, require } from "./question.js";
import { below } from "./random.js";
import { respond } from "./report.js";
import { browserStorage, exclusive } from "./storage.js";
import { letter, readPolicies, readRound, service, verdict } from "./wire.js";

const BLANK = '{"spent":[],"services":{}}';
const LETTER = "application/vnd.confide.letter";
const LOST = 3600000; // after so many milliseconds an episode of another page was cut off;
const GONE = 60000; // after so many if it should have been reported by then

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
  #at;
  #line;
  #storage;
  #policies = null;
  #tries = 0;
  #timer;
  #live = new Set();
  #sending = Promise.resolve();

  constructor(url, options) {
    this.#url = String(url);
    this.#options = options;
    this.#at = (where) => service(String(where), options.fetch ?? ((...told) => fetch(...told)));
    this.#service = this.#at(url);
    this.#witness = options.witness && this.#at(options.witness);
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
    const policy = this.#policies?.[below(this.#policies.length)];
    const told = { contract: this.contract, policy, tell: (...event) => this.#tell(...event) };
    const episode = new Episode({ ...told, conclude: (lived) => this.#quietly(() => this.#conclude(opened, lived)) });
    if (opened?.windowed) {
      episode.due = opened.due;
      later(opened.due - Date.now(), () => episode.finish());
    }
    return episode;
  }

  flush() {
    this.#sending = this.#sending.then(() => this.#quietly(() => this.#send()));
    return this.#sending.then((done) => done !== false);
  }

  async #enter() {
    if (this.contract || this.refusal) return;
    let [joined, stays] = [null, false];
    try {
      const { pin, storage } = this.#options;
      require(globalThis.crypto?.subtle, "This page is neither on https nor on this computer, so nothing can be checked. Serve it over https.");
      this.#storage = storage ?? (await browserStorage());
      require(this.#storage, "A device must remember what it sent, and there is no storage here. Give it one.");
      const { contract, head } = await this.#change((memory) => memory);
      joined = contract && (await readContract(fromBase64(contract)));
      stays = joined && (pin ?? joined.pin) === joined.pin;
      const next = stays && head?.ended && head.successor; // signed by whoever was joined
      this.contract = stays && !next ? joined : await this.#accept(next ? `sha256:${next}` : pin, joined, stays);
    } catch (error) {
      if (error instanceof Refusal) this.refusal = error.message;
      else if (stays) this.contract = joined;
      this.#complain(error);
    }
  }

  /** stays: while the one that was joined is still the one that is shown. */
  async #accept(pin, joined, stays) {
    const bytes = await this.#service.get("/v1/contract");
    const shown = await readContract(bytes);
    if (stays && shown.pin === joined.pin) return joined;
    require(!pin || shown.pin === pin, `The service shows contract ${shown.pin}, not the pinned one. Nothing is sent.`);
    require(
      !joined || !weaker(shown, joined),
      "The service shows a contract weaker than the one that was joined. Nothing is sent.",
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
    await this.#fetch(found);
    await this.#change((memory) => {
      if (!(memory.head?.round > found.round)) memory.head = found;
    });
  }

  async #fetch(head) {
    // A witness that is not there proves nothing.
    const seen = await this.#witness?.get(`/v1/rounds/${head.round}`).catch(() => null);
    require(
      !seen || (await readRound(seen, this.contract)).hash === head.hash,
      `The witness knows another round ${head.round} than the service shows; it is not followed.`,
    );
    head.bytes = toBase64(await this.#service.get(`/v1/policies/${head.policy}`));
    await this.#use(head);
  }

  async #use(head) {
    this.#policies = await readPolicies(fromBase64(head.bytes), head.policy, this.contract.spec);
    this.round = head.round;
  }

  async #open() {
    if (!this.#policies) return null;
    const { operator, key, window, between } = this.contract;
    const mark = [operator, toBase64(key), this.#url];
    const over = (memory, spent) => memory.head.ended || spent.some((one) => one.some((part, at) => part === mark[at]));
    const done = await this.#change(over);
    const place = between && !done && (await this.#ticket());
    if (place === null) return null;
    const opened = await this.#change((memory, spent) => {
      if (over(memory, spent)) return null;
      spent.push(mark);
      const id = hex(crypto.getRandomValues(new Uint8Array(16)));
      const windowed = window.seconds > 0;
      return (memory.open = { ...place, id, windowed, due: Date.now() + below(Math.ceil(window.seconds * 1000)), round: this.round });
    });
    if (opened) this.#live.add(opened.id);
    else this.#tell("spent", "This person has reported before: the policy is followed, and nothing is sent.");
    return opened;
  }

  /** A place in a batch, and the policy that its people follow; null if there is none to have, and nothing is spent. */
  async #ticket() {
    const place = await this.#between().ticket();
    if (!place) this.#tell("full", "All places are taken: the policy is followed, and nothing is sent.");
    else if (place.round !== this.round) {
      const found = await readRound(await this.#service.get(`/v1/rounds/${place.round}`), this.contract);
      require(found.round === place.round, `The service shows another round than ${place.round}; it is not followed.`);
      await this.#fetch(found);
    }
    return place;
  }

  #between() {
    return (this.#line ??= this.contract.between(this.contract, this.#service, this.#at));
  }

  #draw({ id }, lived) {
    this.#live.delete(id);
    const { design, hash, parcel } = this.contract;
    return this.#change((memory) => {
      if (memory.open?.id !== id) return null;
      const { due, round, ticket, batch } = memory.open;
      const body = ticket ? parcel(this.contract, ticket, lived) : letter(fromHex(id), hash, round, respond(design, lived));
      memory.letter = { due, batch, body: toBase64(body) };
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
    if (open && !this.#live.has(open.id)) {
      // Whoever was cut off reports an empty episode: silence would tell.
      const left = open.due + (open.windowed ? GONE : LOST) - Date.now();
      if (left > 0) this.#again(left);
      else await this.#draw(open, { states: [], actions: [], rewards: [] });
    }
    const { letter: kept } = await this.#change((memory) => memory);
    if (!kept) return true;
    const early = kept.due - Date.now();
    if (early > 0) return this.#again(early) || kept.epoch != null;
    const body = fromBase64(kept.body);
    const sent = kept.batch ? this.#between().deliver(kept, body) : this.#service.post("/v1/reports", LETTER, body).then(verdict);
    const end = await sent.catch(() => 0);
    if (typeof end === "number") {
      const wait = Math.min(2 ** this.#tries++, 3600) * (0.5 + below(1000) / 1000);
      this.#tell("offline", "The service cannot take the report now; it is kept and sent again.");
      return this.#again(1000 * (end + wait));
    }
    const { epoch, wait } = end; // only where it was taken
    await this.#change((memory) => {
      if (memory.letter?.body !== kept.body) return;
      // Until the batch is closed: whoever took it may forget.
      if (epoch) Object.assign(memory.letter, { epoch, due: Date.now() + 1000 * wait });
      else memory.letter = null;
    });
    if (epoch) {
      if (kept.epoch !== epoch) this.#tell("taken", "The report was taken; it is kept until its batch is closed.");
      return !this.#again(1000 * wait);
    }
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
