/** The contract, believed in nothing that can be computed. */

import { ACCEPTED } from "./accepted.js";
import { keeps, mechanism } from "./mechanism.js";
import { ask, Refusal, require } from "./question.js";

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A contract, refused unless its noise keeps its guarantee; what a shuffler or a curator keeps is theirs to keep. */
export async function readContract(bytes) {
  const hash = await sha256(bytes);
  const pin = `sha256:${hex(hash)}`;
  const told = sensible(() => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  const tickets = told?.trust === "shuffle" || told?.trust === "joint" ? await import("./tickets.js") : null;
  const shares = told?.mechanism?.mechanism === "skellam" ? await import("./shares.js") : null;
  const asked = told?.question?.kind;
  const special = asked === "moments" ? await import("./features.js") : asked === "asked_return" ? await import("./returns.js") : null;
  const sealed = told?.intermediary?.sealing ? await import("./sealed.js") : null;
  const { admit, less } = told?.issuer ? await import("./tokens.js") : {};
  const returning = told?.reports_per_person > 1 || told?.period ? await import("./returning.js") : null;
  const found = sensible(() => read(told, tickets, shares, special, returning, pin));
  return { ...found, ...(await sealed?.readSealing(found)), admit, less, hash, pin };
}

function sensible(work) {
  try {
    return work();
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("The contract cannot be read. Update it.");
  }
}

function read(told, tickets, shares, special, returning, pin) {
  require(
    told.schema === "confide.contract/1" && (told.reports_per_person === 1 || returning) && (tickets || told.trust === "local"),
    "This version keeps contracts of trust local, shuffle or joint. Update it.",
  );
  const visits = returning?.readReturning(told, pin);
  const { guarantee } = told;
  const { epsilon, delta, rho } = guarantee;
  require(
    (rho === null) !== (epsilon === null) && (rho ?? epsilon) > 0 && delta >= 0 && delta < 1 && told.window.seconds >= 0 && told.operator &&
      told.labels.states.length === told.spec.states && told.labels.actions.length === told.spec.actions,
    "The contract has no operator, labels, window or guarantee that can be kept. Update it.",
  );
  const { kind } = told.question;
  const word = noiseWord(told.mechanism);
  require(
    ACCEPTED[told.trust][kind]?.includes(word),
    `The ${kind} with ${word} under trust ${told.trust} is not in the table of what is accepted. Update it.`,
  );
  const { question, mechanism: noise, ...way } = tickets ? tickets.readTicketed(told, shares, special) : kept(told, special, visits?.keepsAll ?? keeps);
  question.digest = fromHex(told.question.digest);
  const design = { digest: fromHex(told.design_digest), question, mechanism: noise };
  require(design.digest.length === 16 && question.digest.length === 16, "The contract cannot be read. Update it.");
  return { ...told, ...way, again: visits?.again, design, key: fromBase64(told.key) };
}

/** The word for a mechanism in the table. */
const noiseWord = ({ mechanism: name, encoding, node, categories }) =>
  name === "categories" ? encoding : name === "tree" ? `tree-${node}` : name === "shuffled-bits" && categories ? "shuffled-step" : name;

/** What devices keep by themselves. */
function kept(told, special, holds) {
  const made = special ? special.readKind(told) : counted(told);
  require(holds(made.mechanism.loss, told.guarantee), "The contract's noise does not keep its guarantee. Tell its operator.");
  return made;
}

function counted({ spec, question: asked, mechanism: noise }) {
  const question = ask(spec, asked);
  return { question, mechanism: mechanism(question, noise) };
}

/**
 * Whether a contract guarantees less than another, also where they cannot be compared. What is compared is a closed list, the same
 * in confide/service/contract/contract.py.
 */
export function weaker(now, before) {
  const [next, last] = [now.intermediary, before.intermediary];
  const less = (name) => {
    const [one, other] = [now.guarantee[name] ?? null, before.guarantee[name] ?? null];
    return (one === null) !== (other === null) || one > other;
  };
  return (
    now.again?.sooner(before) || before.less?.(now, before) || before.unsealed?.(now) || now.trust !== before.trust || ["epsilon", "delta", "rho", "honest"].some(less) ||
    next?.key !== last?.key || (next && next.operator === now.operator && now.operator !== last.operator) ||
    (now.trust === "shuffle" && now.design.mechanism.loss.epsilon > before.design.mechanism.loss.epsilon) ||
    now.window.seconds < before.window.seconds || now.reports_per_person > before.reports_per_person
  );
}
