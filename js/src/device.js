/** One person's device; index.d.ts says what each call does. */

import { fromBase64, fromHex, hex, readContract, toBase64, weaker } from "./contract.js";
import { Episode } from "./episode.js";
import { Refusal, require } from "./question.js";
import { below } from "./random.js";
import { respond } from "./report.js";
import { browserStorage, exclusive, hold, isHeld } from "./storage.js";
import { letter, readLaw, readPolicies, readRound, service, verdict } from "./wire.js";

const BLANK = '{"spent":[],"services":{}}';
const LETTER = "application/vnd.confide.report";
const LOST = 3600000; // after this many milliseconds an episode of a page that is gone is reported as an empty one;
const GONE = 60000; // after this many where it has a time of its own, and pages cannot know of each other
const LOOK = 900000; // a batch is asked after within this many
const TIMEOUT = 10000;

/** Milliseconds since 1970 by a clock that is set once a page, so that no script can put it back. */
const now = () => performance.timeOrigin + performance.now();

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
  #law;
  #behind = false;
  #tries = 0;
  #timer;
  #leaver;
  #live = new Map();
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
    await device.#enter(device.#deadline());
    device.flush();
    return device;
  }

  async begin() {
    const signal = this.#deadline();
    await this.#enter(signal);
    await this.#quietly(() => this.#follow(signal));
    const opened = await this.#quietly(() => this.#open(signal));
    const policy = this.#policies?.[below(this.#policies.length)];
    if (opened) this.#leaver = this.contract.leaver?.(opened.id, this.#storage.local, (...told) => this.#made(opened, ...told), this.#between());
    const told = { contract: this.contract, policy, ...(opened && this.#leaver), tell: (...event) => this.#tell(...event) };
    const episode = new (this.contract?.observed?.Episode ?? Episode)({ ...told, conclude: (lived) => this.#quietly(() => this.#conclude(opened, lived)) });
    if (opened?.windowed) {
      episode.due = opened.due;
      later(opened.due - now(), () => episode.finish());
    }
    return episode;
  }

  /** What is sealed is handed over now, to be opened at its time. */
  leave() {
    this.#leaver?.leave();
  }

  flush() {
    this.#sending = this.#sending.then(() => this.#quietly(() => this.#send()));
    return this.#sending.then((done) => done !== false);
  }

  /** All requests of one call end with it. */
  #deadline(share = 1) {
    return AbortSignal.timeout(Math.ceil(share * Math.min(Math.max(Number(this.#options.timeout) || TIMEOUT, 1), 1e9)));
  }

  async #enter(signal) {
    if (this.#storage?.whole === false) this.contract = this.refusal = this.round = this.#policies = null; // it may be whole by now
    if (this.contract || this.refusal) return;
    let [joined, stays] = [null, false];
    try {
      const { pin, storage } = this.#options;
      require(globalThis.crypto?.subtle, "This page is neither on https nor on this computer: nothing can be checked. Serve it over https.");
      this.#storage = storage ?? (await browserStorage());
      require(this.#storage, "A device must remember what it sent, and there is no storage here. Give it one.");
      const { contract, head } = await this.#change((memory) => memory);
      joined = contract && (await readContract(fromBase64(contract)));
      stays = joined && (pin ?? joined.pin) === joined.pin;
      const next = stays && head?.ended && head.successor; // signed by the service that was joined
      this.contract = stays && !next ? joined : await this.#accept(next ? `sha256:${next}` : pin, joined, stays, signal);
    } catch (error) {
      if (error instanceof Refusal) this.refusal = error.message;
      else if (stays) this.contract = joined;
      this.#complain(error);
    }
  }

  /** stays: while the one that was joined is still the one that is shown. */
  async #accept(pin, joined, stays, signal) {
    const bytes = await this.#service.get("/v1/contract", signal);
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

  /** Works on {contract, head, open, `letter`} of this service, and what was spent. */
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

  async #follow(signal) {
    if (!this.contract) return;
    const { head, seen } = await this.#change((memory) => memory);
    if (head) await this.#use(head);
    const { pin } = this.contract;
    const highest = seen?.[pin] ?? head; // never forgotten, whatever is followed
    const found = await readRound(await this.#service.get("/v1/rounds/current", signal, { cache: "no-store" }), this.contract, highest);
    await this.#climb(highest, found, signal);
    const agreed = await this.#witnessed(found, signal).catch((error) => this.#forget(error, found, head));
    this.#behind = agreed !== found;
    if (agreed.hash === head?.hash) return;
    await this.#load(agreed, signal);
    await this.#change((memory) => {
      if (!(memory.head?.round > agreed.round) || memory.head.hash === head?.hash) memory.head = agreed;
      if (!(memory.seen?.[pin]?.round > agreed.round)) memory.seen = { ...memory.seen, [pin]: { round: agreed.round, hash: agreed.hash } };
    });
  }

  /** Rounds that were missed are read one by one: each follows from the one before it. */
  async #climb(step, found, signal) {
    while (step && step.round + 1 < found.round) {
      const next = await readRound(await this.#service.get(`/v1/rounds/${step.round + 1}`, signal), this.contract, step);
      require(next.round === step.round + 1, `The service shows another round than ${step.round + 1}; it is not followed.`);
      step = next;
    }
    require(!step || step.hash === found.hash || step.hash === found.previous, `Round ${found.round} does not follow from those before it; it is not followed.`);
  }

  /**
   * The round that is shown, or, where the witness does not know it, the latest that both know: an answer without a round is no
   * consent. A witness that cannot be reached neither consents nor refuses, and is asked again the next time.
   */
  async #witnessed(found, signal) {
    const known = await this.#known(found.round, signal);
    if (known !== false) this.#same(known, found);
    const latest = await this.#known("current", signal);
    require(known !== false || latest?.round < found.round, `The witness does not know round ${found.round}; it is not followed.`);
    require(!(latest?.round > found.round), `The witness has seen round ${latest?.round}, and the service shows ${found.round}; it is not followed.`);
    if (known !== false) return found;
    const earlier = await readRound(await this.#service.get(`/v1/rounds/${latest.round}`, signal), this.contract);
    this.#same(latest, earlier);
    return earlier;
  }

  /** A round as the witness knows it; false if it answers that it does not, null if it cannot be reached. */
  async #known(name, signal) {
    const short = this.#deadline(1 / 6);
    const asked = this.#witness?.get(`/v1/rounds/${name}`, AbortSignal.any?.([signal, short]) ?? short);
    const bytes = await asked?.catch(({ status }) => !(status < 500) || [408, 425, 429].includes(status) ? null : false);
    return bytes ? readRound(bytes, this.contract) : (bytes ?? null);
  }

  #same(known, { hash, round }) {
    require(!known || known.hash === hash, `The witness knows another round ${round} than the service shows; it is not followed.`);
  }

  /** What is shown, and was followed before, is followed no more. */
  async #forget(error, found, head) {
    if (error instanceof Refusal && found.hash === head?.hash) {
      this.round = this.#policies = null;
      await this.#change((memory) => (memory.head = null));
    }
    throw error;
  }

  async #load(head, signal) {
    head.bytes = toBase64(await this.#service.get(`/v1/policies/${head.policy}`, signal));
    const { question } = head;
    head.law = question && (await readLaw(await this.#service.get(`/v1/questions/${question}`, signal), question, this.contract.design.question));
    await this.#use(head);
  }

  async #use(head) {
    this.#policies = await readPolicies(fromBase64(head.bytes), head.policy, this.contract.spec, this.contract.observed?.weights);
    this.round = head.round;
    this.#law = head.law ?? undefined;
  }

  async #open(signal) {
    if (!this.#policies) return null;
    if (this.#storage.whole === false) {
      this.#tell("offline", "What was reported before cannot be read now: the policy is followed, and nothing is sent.");
      return null;
    }
    const { operator, key, window, between, again } = this.contract;
    const mark = [operator, toBase64(key), this.#url];
    const over = (memory, spent, batch) => memory.head.ended || (again ? again.over(memory, spent, mark, batch) : spent.some((one) => one.some((part, at) => part === mark[at])));
    const change = (work) => this.#change(work);
    const { done, slot, prefix = "" } = again ? await again.look(change, over, mark, between && this.#between(), () => this.flush(), signal, now(), this.#service, (error) => this.#complain(error)) : { done: await change(over) };
    const token = (!done && (await this.contract.admit?.(this.contract, change, this.#service, this.#at, this.#options, signal, slot))) || "";
    const place = between && !done && (await this.#ticket(signal, token && prefix + token));
    if (place === null) return null;
    const id = token.slice(0, 32) || hex(crypto.getRandomValues(new Uint8Array(16)));
    this.#live.set(id, await hold(id));
    const opened = await this.#change((memory, spent) => {
      if (done || over(memory, spent, place?.batch)) return null;
      spent.push(again ? again.mark(spent, mark, place?.batch) : mark);
      delete memory.admission;
      const windowed = window.seconds > 0;
      return (memory.open = { ...place, id, windowed, due: now() + this.#delay(), round: this.round, law: this.#law, token });
    });
    if (opened) this.#beat(opened);
    else {
      this.#release(id);
      this.#tell("spent", "This person has reported before: the policy is followed, and nothing is sent.");
    }
    return opened;
  }

  #delay() {
    return below(Math.ceil(this.contract.window.seconds * 1000));
  }

  #release(id) {
    this.#live.get(id)?.();
    this.#live.delete(id);
  }

  /** Where pages cannot know of each other, tell them now and then that an episode goes on. */
  #beat({ id, windowed }) {
    const beat = async () => {
      if (!this.#live.has(id) || (await isHeld(id))) return;
      await this.#quietly(() => this.#change(({ open }) => open?.id === id && (open.due = now())));
      later(LOST / 4, beat);
    };
    if (!windowed) later(LOST / 4, beat);
  }

  /** A place in a batch, and the policy that its people follow; null if there is none to have, and nothing is spent. */
  async #ticket(signal, token) {
    if (this.#behind) {
      this.#tell("offline", "The witness does not know the current round yet: no ticket is taken.");
      return null;
    }
    const place = await this.#between().ticket(signal, fromHex(token));
    if (!place) this.#tell("full", "All places are taken: the policy is followed, and nothing is sent.");
    else if (place.round !== this.round) {
      const found = await readRound(await this.#service.get(`/v1/rounds/${place.round}`, signal), this.contract);
      require(found.round === place.round, `The service shows another round than ${place.round}; it is not followed.`);
      const known = await this.#known(found.round, signal);
      require(known !== false, `The witness does not know round ${found.round}; it is not followed.`);
      this.#same(known, found);
      await this.#load(found, signal);
    }
    return place;
  }

  #between() {
    return (this.#line ??= this.contract.between(this.contract, this.#service, this.#at));
  }

  /** body: what was drawn already. */
  async #draw(opened, lived, body) {
    body ??= await this.#made(opened, lived, 0);
    const drawn = await this.#change((memory) => {
      if (memory.open?.id !== opened.id) return null;
      const { due, batch } = memory.open;
      memory.letter = { due, batch, body: toBase64(body) };
      memory.open = null;
      return body;
    });
    this.#release(opened.id);
    return drawn;
  }

  #made(opened, lived, version) {
    const { design, hash, parcel } = this.contract;
    const { id, round, ticket, law, token } = opened;
    return ticket ? parcel(this.contract, opened, lived, version) : letter(fromHex(id), hash, round, respond(design, lived, law), fromHex(token));
  }

  async #conclude(opened, lived) {
    const body = opened && (await this.#draw(opened, lived, await this.#leaver?.last(lived)));
    await this.flush();
    return body;
  }

  async #send() {
    if (!this.contract) return true;
    const signal = this.#deadline();
    const { open } = await this.#change((memory) => memory);
    if (open && !this.#live.has(open.id)) await this.#abandoned(open);
    const kept = await this.#change(({ letter }) => letter && this.#inReach(letter));
    if (!kept) return true;
    const early = kept.due - now();
    if (early > 0) return this.#again(early) || kept.epoch != null;
    const body = fromBase64(kept.body);
    const sent = kept.batch ? this.#between().deliver(kept, body, signal) : this.#service.post("/v1/reports", LETTER, body, signal).then((answer) => verdict(answer, this.contract.hash));
    const end = await sent.catch(() => 0);
    if (typeof end === "number") {
      const wait = Math.min(2 ** this.#tries++, 3600) * (0.5 + below(1000) / 1000);
      this.#tell("offline", "The service cannot take the report now; it is kept and sent again.");
      return this.#again(1000 * (end + wait));
    }
    const { epoch, wait } = end; // only where it was taken
    await this.#change((memory) => {
      if (memory.letter?.body !== kept.body) return;
      // Until the batch is closed: the process that took it may forget.
      if (epoch) Object.assign(memory.letter, { epoch, due: now() + 1000 * wait });
      else memory.letter = null;
    });
    if (epoch) {
      if (kept.epoch !== epoch) this.#tell("taken", "The report was taken; it is kept until its batch is closed.");
      return !this.#again(1000 * wait);
    }
    this.#tell(end, end === "counted" ? "The report was counted." : "The service refused the report for good; it is not sent again.");
    return true;
  }

  /** An episode that another page began: where that has ended an empty one is reported, since silence would tell. */
  async #abandoned({ id, windowed }) {
    const held = await isHeld(id);
    const open = !held && (await this.#change((memory) => memory.open?.id === id && this.#inReach(memory.open)));
    const left = open ? open.due + (windowed ? (held === false ? 0 : GONE) : LOST) - now() : GONE;
    if (left > 0) this.#again(left);
    else await this.#draw(open, { states: [], actions: [], rewards: [] }, this.contract.handed?.(id, this.#storage.local));
  }

  /** Draws a time anew that is further ahead than any that is drawn now: the clock was put back since. */
  #inReach(waiting) {
    if (waiting.due - now() > (waiting.epoch == null ? 1000 * this.contract.window.seconds : LOOK)) waiting.due = now() + this.#delay();
    return waiting;
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
