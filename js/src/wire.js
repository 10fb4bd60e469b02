/** All that goes over the wire; README.md says what that is. */

import { fromBase64, hex, sha256 } from "./contract.js";
import { require } from "./question.js";

const COUNTED = [200, 201, 202];
const FINAL = [400, 404, 409, 410, 413, 415, 422];

export const reading = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** "counted", "dropped" for good, or how many seconds to wait at least. */
export function verdict({ status, headers }) {
  return COUNTED.includes(status) ? "counted" : FINAL.includes(status) ? "dropped" : Number(headers.get("retry-after")) || 0;
}

export function service(url, ask) {
  const call = (path, more) =>
    ask(url.replace(/\/+$/, "") + path, {
      credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", signal: AbortSignal.timeout(10000), ...more,
    });
  return {
    get: async (path, more) => {
      const answer = await call(path, more);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
      return new Uint8Array(await answer.arrayBuffer());
    },
    post: (path, type, body) => call(path, { method: "POST", headers: { "content-type": type }, body, keepalive: body.length < 60000 }),
  };
}

/** A signed round in one chain with the held one; null if it is that one. */
export async function readRound(bytes, { key, hash: contract }, held) {
  const { head, signature } = reading(bytes);
  const data = fromBase64(head);
  const signed = new Uint8Array([...new TextEncoder().encode("confide.head/1\n"), ...data]);
  const signer = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  require(
    await crypto.subtle.verify("Ed25519", signer, fromBase64(signature), signed),
    "The service shows a round that is not signed by the contract's key; it is not followed.",
  );
  const found = { ...reading(data), hash: hex(await sha256(data)) };
  if (found.hash === held?.hash) return null;
  const { round } = found;
  require(
    found.contract === hex(contract) && !(held && (round <= held.round || (round === held.round + 1 && found.previous !== held.hash))),
    `The service shows a round ${round} that does not follow round ${held?.round} of this contract; it is not followed.`,
  );
  return found;
}

/** Policies by their common hash, of which everybody follows one: each from step and state to the chances of actions. */
export async function readPolicies(bytes, name, spec) {
  const known = hex(await sha256(bytes)) === name;
  const parts = known ? (text(bytes) === "cfm1" ? several(bytes) : [bytes]) : [];
  const found = parts.map((part) => readPolicy(part, spec));
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

export function letter(id, contract, round, report) {
  const body = new Uint8Array([0x63, 0x66, 0x6c, 0x31, ...id, ...contract, 0, 0, 0, 0, ...report]);
  new DataView(body.buffer).setUint32(52, round, true);
  return body;
}
