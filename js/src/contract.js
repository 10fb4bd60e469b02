/** The contract, believed in nothing that can be computed. */

import { keeps, mechanism } from "./mechanism.js";
import { ask, Refusal, require } from "./question.js";

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A contract, refused unless its noise keeps its promise. */
export async function readContract(bytes) {
  const hash = await sha256(bytes);
  try {
    return { ...read(bytes), hash, pin: `sha256:${hex(hash)}` };
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("The contract cannot be read. Update it.");
  }
}

function read(bytes) {
  const told = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  require(
    told.schema === "confide.contract/1" && told.reports_per_person === 1,
    "This version keeps contracts of one report a person. Update it.",
  );
  require(told.trust === "local", `The contract is of trust ${told.trust}, which takes tickets. Pages take none yet: use the device in Python.`);
  const { promise } = told;
  const { epsilon, delta, rho } = promise;
  require(
    (rho === null) !== (epsilon === null) && (rho ?? epsilon) > 0 && delta >= 0 && delta < 1 && told.window.seconds >= 0 && told.operator &&
      told.labels.states.length === told.spec.states && told.labels.actions.length === told.spec.actions,
    "The contract has no operator, labels, window or promise that can be kept. Update it.",
  );
  const question = ask(told.spec, told.question);
  question.digest = fromHex(told.question.digest);
  const design = { digest: fromHex(told.design_digest), question, mechanism: mechanism(question, told.mechanism) };
  require(
    design.digest.length === 16 && question.digest.length === 16 && keeps(design.mechanism.loss, promise),
    "The contract's noise does not keep its promise. Tell its operator.",
  );
  return { ...told, design, key: fromBase64(told.key) };
}

/** Also where they cannot be compared. */
export function weaker(promise, than) {
  return ["epsilon", "delta", "rho"].some((name) => (promise[name] === null) !== (than[name] === null) || promise[name] > than[name]);
}
