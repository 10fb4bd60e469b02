/** All that goes over the wire; README.md says what that is. */

import { fromBase64, hex, sha256 } from "./contract.js";
import { require } from "./question.js";

const OUTCOMES = ["counted", "counted before"];
const FINAL = ["closed", "contract", "ended", "garbage", "length", "report", "ticket"];

export const reading = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/**
 * "counted", "dropped" for good, or how many seconds to wait at least. Proxies answer too: only what the service itself wrote is
 * believed, and of its refusals those that are final (confide/service/contract/answers.py) and name the contract.
 */
export function verdict({ status, headers, told }, contract) {
  if ((status === 200 || status === 201) && OUTCOMES.includes(told.outcome)) return "counted";
  const reason = /^urn:confide:problem:(\w+)$/.exec(told.type)?.[1];
  const own = /^application\/problem\+json\b/.test(headers.get("content-type")) && told.status === status && typeof told.contract === "string";
  if (own && FINAL.includes(reason) && (told.contract !== hex(contract)) === (reason === "contract")) return "dropped";
  return Math.max(0, Math.min(Number(headers.get("retry-after")) || 0, 3600));
}

/** Requests whose answers come in time, to the last byte, whatever `ask` does. */
export function service(url, ask) {
  const call = (path, signal, read, more) => {
    const work = async () =>
      read(await ask(url.replace(/\/+$/, "") + path, { credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", signal, ...more }));
    const late = new Promise((_, failed) => {
      signal.addEventListener("abort", () => failed(signal.reason));
      if (signal.aborted) failed(signal.reason);
    });
    return Promise.race([work(), late]);
  };
  const document = async (path, answer) => {
    if (answer.status !== 200) throw Object.assign(new Error(`${path}: ${answer.status}`), { status: answer.status });
    return new Uint8Array(await answer.arrayBuffer());
  };
  const heard = async (answer) => ({ status: answer.status, headers: answer.headers, told: Object(await answer.json().catch(() => null)) });
  return {
    get: (path, signal, more) => call(path, signal, (answer) => document(path, answer), more),
    /** {status, headers, `told`}: what the answer tells, if that is JSON. */
    post: (path, type, body, signal) =>
      call(path, signal, heard, { method: "POST", headers: { "content-type": type }, body, keepalive: body.length < 60000 }),
  };
}

/** The bytes of a signed document; false unless the signature is by this key. word: what the document is. */
export async function signedBytes(bytes, word, key) {
  const told = reading(bytes);
  const data = fromBase64(told[word]);
  const signer = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  const signed = new Uint8Array([...new TextEncoder().encode(`confide.${word}/1\n`), ...data]);
  return (await crypto.subtle.verify("Ed25519", signer, fromBase64(told.signature), signed)) && data;
}

/** A signed round that is the held one, or in one chain with it. */
export async function readRound(bytes, { key, hash: contract }, held) {
  const data = await signedBytes(bytes, "head", key);
  require(data, "The service shows a round that is not signed by the contract's key; it is not followed.");
  const found = { ...reading(data), hash: hex(await sha256(data)) };
  if (found.hash === held?.hash) return found;
  const { round } = found;
  require(
    found.contract === hex(contract) && !(held && (round <= held.round || (round === held.round + 1 && found.previous !== held.hash))),
    `The service shows a round ${round} that does not follow round ${held?.round} of this contract; it is not followed.`,
  );
  return found;
}

/** Policies by their common hash, of which every user follows one: each from step and state to the chances of actions. read: of another form. */
export async function readPolicies(bytes, name, spec, read = readPolicy) {
  const known = hex(await sha256(bytes)) === name;
  const parts = known ? (text(bytes) === "cfm1" ? several(bytes) : [bytes]) : [];
  const found = parts.map((part) => read(part, spec));
  require(found.length && found.every(Boolean), "The service sent a policy that is not the one it signed; it is not followed.");
  return found;
}

const text = (bytes) => String.fromCharCode(...bytes.subarray(0, 4));
const viewed = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

function several(bytes) {
  const found = [];
  for (let start = 8, end; start + 4 <= bytes.length; start = end) {
    end = start + 4 + viewed(bytes).getUint32(start, true);
    found.push(bytes.subarray(start + 4, end));
  }
  return found;
}

function readPolicy(bytes, { states, actions, horizon }) {
  const view = viewed(bytes);
  const form = bytes[4];
  const size = form || 8 * actions;
  const good =
    text(bytes) === "cfp1" && [0, 1, 2, 4].includes(form) && bytes.length === 17 + horizon * states * size &&
    [horizon, states, actions].every((one, at) => view.getUint32(5 + 4 * at, true) === one);
  const chances = (step, state) => {
    const start = 17 + (step * states + state) * size;
    const chosen = form && view[`getUint${8 * form}`](start, true);
    return Array.from({ length: actions }, (_, at) => (form ? +(at === chosen) : view.getFloat64(start + 8 * at, true)));
  };
  return good && chances;
}

/** Weights of the pairs that people are asked about: "cfa1", question (16), a whole number (8) for each. */
export async function readLaw(bytes, name, { kind, rows, digest, lawful }) {
  const good =
    kind === "asked" && hex(await sha256(bytes)) === name && text(bytes) === "cfa1" && bytes.length === 20 + 8 * rows && digest.every((byte, at) => bytes[4 + at] === byte);
  const law = good ? Array.from({ length: rows }, (_, at) => Number(viewed(bytes).getBigUint64(20 + 8 * at, true))) : [];
  const total = law.reduce((sum, one) => sum + one, 0);
  require(total > 0 && total < 2 ** 53 && (!lawful || lawful(law, total)), "The service sent a law that is not the one it signed; it is not followed.");
  return law;
}

export function letter(id, contract, round, report, token) {
  const body = new Uint8Array([0x63, 0x66, 0x6c, 0x31, ...id, ...contract, 0, 0, 0, 0, ...report, ...token]);
  new DataView(body.buffer).setUint32(52, round, true);
  return body;
}
