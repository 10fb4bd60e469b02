/** Where an intermediary stands between devices and the collector: a shuffler who adds up reports, or a curator who is trusted with episodes. */

import { fromBase64, toBase64 } from "./contract.js";
import { admit, ask, inside, require } from "./question.js";
import { below, chance } from "./random.js";
import { respond } from "./report.js";
import { reading, verdict } from "./wire.js";

const ROLES = { __proto__: null, joint: "curator", shuffle: "shuffler" };
const DOORS = { curator: "/v1/episodes", shuffler: "/v1/reports" };
const MEDIA_TYPE = "application/vnd.confide.submission";
const TICKET = 64; // "cft1", contract (32), batch, place, round (4 each), mac (16)
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const [STEADY, AFTER] = [16, 8]; // batches of the first size, and of every doubled one
const MONTH = 30 * 86400;

/** {question, mechanism, `parcel`, between} of a contract that takes tickets. shares, featured: the modules for shares of noise and for features, where there are. */
export function readTicketed(told, shares, featured) {
  const { trust, window, intermediary: about } = told;
  const inMonth = (one) => typeof one === "number" && one >= 0 && one <= MONTH;
  require(
    about.role === ROLES[trust] && fromBase64(about.key).length === 32 && about.operator && [about.deadline, about.publication, about.patience].every(inMonth) &&
      window.seconds > 0 && window.seconds <= about.deadline,
    `The contract does not say who its ${ROLES[trust]} is, or closes batches before reports are sent. Update it.`,
  );
  return { ...(featured ? featured.readKind(told, shares) : trust === "joint" ? whole(told) : shares ? shares.shared(told) : shuffled(told)), parcel, between };
}

/** The curator hears everything: its releases keep the guarantee, and nothing of that can be checked here. */
function whole({ spec, question: { kind, last } }) {
  require(inside(spec.horizon - 1, 2 ** 24), "The contract asks for what this version cannot tell. Update it.");
  return { question: { ...spec, kind, last }, mechanism: null };
}

/** Flipped bits, of which only sums are shown; loss is what the shuffler could see, and all that can be checked here. */
function shuffled(told) {
  const { kind } = told.question;
  const { mechanism: name, crowds, categories, apart } = told.mechanism;
  const step = kind === "step";
  const question = ask(told.spec, { ...told.question, kind: kind === "bits" ? "counts" : kind });
  const flips = crowds.map(([flip]) => flip);
  require(
    name === "shuffled-bits" && told.guarantee.honest > 0 && told.guarantee.honest <= 1 && (step || kind === "bits") && (flips.length === 1 || (apart === true && flips.length > 1)) && flips.every((flip) => flip > 0 && flip < 0.5) && categories === (step ? question.width : 0) &&
      !["squares", "centred"].some((part) => !step && question.parts.includes(part)),
    "The contract's noise does not fit its statistic. Update the contract.",
  );
  const { slices, levels, resolution, horizon, moves } = question;
  const weight = (part) => (part === "rewards" ? levels : 1);
  const changed = step ? 2 : slices.reduce((sum, { part }) => sum + 2 * (part === "transitions" ? moves : weight(part) * horizon), 0);
  const bits = (cells, flip) => {
    const sent = new Float64Array(cells.length);
    for (const { part, start, end, trials } of slices) {
      for (let at = start; at < end; at++) {
        for (let one = 0; one < trials * weight(part); one++) sent[at] += (one < (cells[at] * weight(part)) / resolution) !== chance(flip);
      }
    }
    return sent;
  };
  const least = Math.min(...flips);
  const noise = (flip, level) => ({
    packing: step ? "bits" : "whole",
    names: false,
    units: 1,
    level,
    randomise: (cells) => (step ? cells.map((bit) => +((bit === 1) !== chance(flip))) : bits(cells, flip)),
    limits: ({ part, trials }) => [0, step ? 1 : trials * weight(part)],
    loss: { epsilon: changed * (Math.log1p(-least) - Math.log(least)) },
  });
  return { question, mechanism: { ...noise(flips[0], 0), sizes: flips.map(noise), apart } };
}

/** "cfe1", steps (4), whether the last state is known (4), states (4 each of H+1), actions (4 of H), rewards (8 of H): always as long as the longest. */
export function episodeBytes(question, lived) {
  admit(question, lived);
  const { horizon } = question;
  const { states, actions, rewards } = lived.states.length ? lived : { ...lived, states: [0] };
  const view = new DataView(new ArrayBuffer(16 + 16 * horizon));
  view.setUint32(0, 0x63666531);
  view.setUint32(4, actions.length, true);
  view.setUint32(8, states.length - actions.length, true);
  states.forEach((one, at) => view.setUint32(12 + 4 * at, one, true));
  actions.forEach((one, at) => view.setUint32(16 + 4 * (horizon + at), one, true));
  rewards.forEach((one, at) => view.setFloat64(16 + 8 * (horizon + at), one, true));
  return new Uint8Array(view.buffer);
}

/** What a ticket holder hands over: the ticket, and a report, randomised for a batch of its size, or the episode. */
function parcel({ trust, design }, { ticket, batch }, lived) {
  const made = trust === "joint" ? (design.question.bytes ?? episodeBytes)(design.question, lived) : respond(sized(design, batch), lived);
  return new Uint8Array([...fromBase64(ticket), ...made]);
}

/** The design for the people of a batch: 16 of the first size, then 8 of every doubled one, where batches widen. */
export function sized(design, batch) {
  const { sizes, apart } = design.mechanism;
  const mechanism = sizes[apart ? Math.max(0, Math.floor((batch - 1 - STEADY) / AFTER) + 1) : 0];
  require(mechanism, "The ticket is for a batch that the contract does not have. Nothing is sent.");
  return { ...design, mechanism };
}

/** {ticket, batch, round}; whether it is valid only its issuer knows. */
export function readTicket(bytes, hash) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  require(
    bytes.length === TICKET && view.getUint32(0) === 0x63667431 && hash.every((byte, at) => bytes[4 + at] === byte),
    "What was issued is no ticket of the contract that was joined. Nothing is sent.",
  );
  return { ticket: toBase64(bytes), batch: view.getUint32(36, true), round: view.getUint32(44, true) };
}

/** The line to a shuffler or a curator. collector: a line to the server that says where it is; at: makes a line to an address. */
function between({ hash, intermediary: { role, address, patience } }, collector, at) {
  let line = null;
  /** An address that is not in the contract is believed on this computer only: anyone could have named it. */
  const reached = async (signal) => {
    if (!line) {
      const { href, hostname, protocol } = new URL(address ?? reading(await collector.get("/v1/intermediary", signal)).address);
      require(
        LOOPBACK.includes(hostname) || (address && protocol === "https:"),
        `The contract does not say where its ${role} is, or not by https. Nothing is sent there.`,
      );
      line = at(href);
    }
    return line;
  };
  const asked = async (signal, work) => {
    try {
      return await work(await reached(signal));
    } catch (error) {
      line = null; // it may have moved
      throw error;
    }
  };
  const look = () => Math.min(600, Math.max(patience, 1) / 4) * (0.5 + below(1000) / 1000);
  return {
    /** The batch that tickets are issued for. */
    next: (signal) =>
      asked(signal, async (door) => {
        const { batch } = reading(await door.get("/v1/tickets", signal, { cache: "no-store" }));
        if (!(Number.isInteger(batch) && batch > 0)) throw new Error("not the service's response");
        return batch;
      }),
    /** A place in a batch; null if there is none left. */
    ticket: (signal, token) =>
      asked(signal, async (door) => {
        const { status, told } = await door.post("/v1/tickets", "application/vnd.confide.token", token, signal);
        if (status === 410) return null;
        if (status !== 201) throw new Error(`no ticket: ${status}`);
        return readTicket(fromBase64(told.ticket), hash);
      }),
    /** Of a page that closes: no page hears the answer. */
    hand: (body, signal = AbortSignal.timeout(10000)) => asked(signal, (door) => door.post(DOORS[role], MEDIA_TYPE, body, signal)),
    /** As `verdict`, or {epoch, wait}: it was taken by this process, and what became of it is to be asked after this many seconds. */
    deliver: ({ batch, epoch }, body, signal) =>
      asked(signal, async (door) => {
        if (epoch != null) {
          const found = reading(await door.get(`/v1/batches/${batch}`, signal, { cache: "no-store" }));
          if (!("closing" in found && "epoch" in found)) throw new Error("not the service's response");
          const same = found.epoch === epoch;
          if (found.closing !== null) return same ? "counted" : "dropped";
          if (same) return { epoch, wait: look() };
        }
        const answer = await door.post(DOORS[role], MEDIA_TYPE, body, signal);
        if (answer.status === 503) line = null; // another process may have taken over
        const taken = answer.status === 202 && Number.isInteger(answer.told.epoch);
        return taken ? { epoch: answer.told.epoch, wait: look() } : verdict(answer, hash);
      }),
  };
}
