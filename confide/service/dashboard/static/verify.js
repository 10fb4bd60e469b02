/** Follows the chain of a service from its first round to its last, as every device checks it, and every release besides. */

import { fromBase64, hex, readContract, sha256 } from "./device/src/contract.js";
import { readPolicies as readAll, readRound } from "./device/src/wire.js";

const FIRST = "0".repeat(64);

export async function get(path) {
  const answer = await fetch(path, { credentials: "omit" });
  if (answer.status !== 200) throw new Error(`${path} returned ${answer.status}.`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** What the contract says, with its hash, pin and key; nothing is checked yet. */
export async function loadContract() {
  const bytes = await get("/v1/contract");
  const told = JSON.parse(new TextDecoder().decode(bytes));
  if (!globalThis.crypto?.subtle) return { ...told, bytes, pin: null };
  const hash = await sha256(bytes);
  return { ...told, bytes, hash, pin: `sha256:${hex(hash)}`, key: fromBase64(told.key) };
}

/** A policy by its hash, step and state to chances; where there are several, of which every user follows one, the average. */
export async function readPolicies(bytes, name, spec) {
  const found = await readAll(bytes, name, spec);
  return (step, state) => found.map((one) => one(step, state)).reduce((sum, one) => sum.map((part, at) => part + one[at])).map((part) => part / found.length);
}

function require(holds, sentence) {
  if (!holds) throw new Error(sentence);
}

/** {rounds, head, noise: whether the noise was recomputed}; throws one sentence about the first thing that does not hold. */
export async function verify(contract, progress) {
  require(globalThis.crypto?.subtle, "This page is neither on https nor on this computer, so the browser offers nothing to check with.");
  const known = contract.question.kind !== "mixture"; // devices here know no mixtures
  if (known) await readContract(contract.bytes);
  const newest = JSON.parse(new TextDecoder().decode(await get("/v1/rounds/current")));
  const last = JSON.parse(new TextDecoder().decode(fromBase64(newest.head))).round;
  let held = null;
  for (let number = 1; number <= last; number++) {
    const found = await readRound(await get(`/v1/rounds/${number}`), contract, held);
    require(found?.round === number && (held || found.previous === FIRST), `Round ${number} is not the one that should be there.`);
    await readPolicies(await get(`/v1/policies/${found.policy}`), found.policy, contract.spec);
    if (found.question) {
      const question = hex(await sha256(await get(`/v1/questions/${found.question}`)));
      require(question === found.question, `The query of round ${number} is not the signed one.`);
    }
    if (found.ended && found.release === null) {
      // Before its schedule a service may end, but not otherwise than with the policy it had.
      require(found.policy === held?.policy && found.people === held?.people, "The service ended early, with another policy than that of its last round.");
    } else if (number > 1) {
      const release = hex(await sha256(await get(`/v1/releases/${number - 1}`)));
      require(release === found.release, `The release of round ${number - 1} is not the signed one.`);
    }
    held = found;
    progress(number, last);
  }
  const end = hex(await sha256(fromBase64(newest.head)));
  require(end === held?.hash, "The current round is not the last of the chain.");
  return { rounds: last, head: end, noise: known && contract.trust === "local" };
}
