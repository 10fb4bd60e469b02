// confide-device, Apache-2.0; written by build.mjs from src
const pool = new Uint32Array(4096);
let next = pool.length;
let coins = 1;
function word() {
if (next === pool.length) {
crypto.getRandomValues(pool);
next = 0;
}
const drawn = pool[next];
pool[next++] = 0;
return drawn;
}
export function coin() {
if (coins === 1) coins = word() | 2 ** 31;
const bit = coins & 1;
coins >>>= 1;
return bit === 1;
}
export function below(size) {
if (size <= 2) return size === 2 && coin() ? 1 : 0;
const high = Math.floor((size - 1) / 2 ** 32);
const spare = Math.clz32(high || size - 1);
for (;;) {
const top = word() >>> spare;
const drawn = high ? top * 2 ** 32 + word() : top;
if (drawn < size) return drawn;
}
}
export function chance(rest) {
while (rest > 0 && rest < 1) {
rest *= 2 ** 32;
const digit = Math.floor(rest);
const drawn = word();
if (drawn !== digit) return drawn < digit;
rest -= digit;
}
return rest >= 1;
}
export function chanceOf(rest, whole) {
while (rest > 0n && rest < whole) {
rest <<= 32n;
const digit = rest / whole;
const drawn = BigInt(word());
if (drawn !== digit) return drawn < digit;
rest -= digit * whole;
}
return rest >= whole;
}
const always = () => true;
function expOf(event) {
let k = 1;
while (below(k) === 0 && event()) k++;
return k % 2 === 1;
}
export function exp(x) {
for (; x >= 1; x--) if (!expOf(always)) return false;
return expOf(() => chance(x));
}
export function rare(x) {
while (!coin()) if (exp(x)) return true;
return false;
}
export function laplace(p, q) {
for (;;) {
const u = below(p);
if (!expOf(() => below(p) < u)) continue;
let v = 0;
while (expOf(always)) v++;
const size = Math.floor((u + p * v) / q);
const negative = coin();
if (size || !negative) return negative ? -size : size;
}
}
export function gaussian(p, q) {
const t = Math.floor(p / q) + 1;
const [bigT, bigP, bigQ] = [t, p, q].map(BigInt);
const under = 2n * (bigT * bigP * bigQ) ** 2n;
const kept = (y) => {
const power = (BigInt(Math.abs(y)) * bigT * bigQ * bigQ - bigP * bigP) ** 2n;
for (let whole = power / under; whole > 0n; whole--) if (!expOf(always)) return false;
return expOf(() => chanceOf(power % under, under));
};
return () => {
for (;;) {
const y = laplace(t, 1);
if (kept(y)) return y;
}
};
}
export function atLeast(scale, times) {
let over = 1n;
for (; !Number.isInteger(scale); over *= 2n) scale *= 2;
const exact = BigInt(scale) * BigInt(times);
for (let q = 1n; ; q *= 2n) {
const p = (exact * q + over - 1n) / over;
if ((p * over - exact * q) * 1000000n <= exact * q) return [Number(p), Number(q)];
}
}
const PARTS = ["visits", "rewards", "squares", "centred", "transitions"];
export class Refusal extends Error {}
export function require(holds, sentence) {
if (!holds) throw new Refusal(sentence);
}
export const inside = (value, size) => Number.isInteger(value) && value >= 0 && value < size;
export function ask({ states, actions, horizon, model }, { kind, parts, last, levels, objective }) {
const told = kind === "step" || kind === "asked";
require(
[states, actions, horizon, levels].every((one) => one > 0 && inside(one, 2 ** 24)) && (model === "stationary" || model === "per-step") &&
(told || kind === "counts") && parts.join() === PARTS.filter((part) => parts.includes(part)).join() &&
["counted", "dropped", "end"].includes(last) && (objective === "reward" || objective === "cost") &&
!(told && (levels > 1 || last === "dropped")),
"The contract asks for what this version cannot tell. Update it.",
);
const layers = model === "stationary" ? 1 : horizon;
const nexts = states + (last === "end");
const moves = horizon - (last === "dropped");
const has = (part) => parts.includes(part);
const unit = has("squares") ? levels ** 2 : has("centred") || has("rewards") ? levels : 1;
const slices = [];
let cells = 0;
for (const part of parts) {
const moved = part === "transitions";
const length = (moved && layers > 1 ? moves : layers) * states * actions * (moved ? nexts : 1);
slices.push({ part, start: cells, end: cells + length, trials: layers > 1 ? 1 : moved ? moves : horizon });
cells += length;
}
const pairs = states * actions;
const [rows, width] = { step: [layers, 2 * pairs * nexts + 1], asked: [layers * pairs, 2 * nexts + 1], counts: [1, cells] }[kind];
require(cells > 0 && width <= 2 ** 28, "The contract asks for too many numbers, or none. Update it.");
const resolution = has("centred") ? 2 * unit : unit;
const law = kind === "asked" ? Array(rows).fill(1) : null;
return { kind, parts, last, levels, objective, states, actions, horizon, layers, nexts, moves, resolution, slices, cells, width, rows, law };
}
export function sensitivity({ parts, last, horizon, moves, layers }) {
const pooled = layers === 1;
const centred = parts.includes("centred");
require(!centred || parts.includes("transitions"), "Centred rewards need transitions. Update the contract.");
let [l1, square] = [0, 0];
for (const part of parts) {
if (part === "centred") continue;
for (const block of part !== "transitions" ? [horizon] : last === "end" ? [horizon - 1, 1] : [moves]) {
l1 += 2 * block;
square += 2 * (pooled ? block ** 2 : block);
}
}
if (centred) {
l1 += horizon;
square += (pooled ? horizon ** 2 : horizon) / 2;
if (parts.length === 2) {
if (!pooled) square += (last === "end" ? Math.floor(horizon / 2) : Math.ceil(horizon / 2)) / 2;
else if (last === "dropped" || horizon === (last === "end" ? 2 : 1)) square += 0.5;
}
}
return { l1, l2: Math.sqrt(square) };
}
export function admit({ states: size, actions: choices, horizon, last }, { states, actions, rewards }) {
const steps = actions.length;
require(
steps <= horizon && rewards.length === steps && (states.length === steps || states.length === steps + 1) &&
states.every((one) => inside(one, size)) && actions.every((one) => inside(one, choices)) &&
rewards.every((one) => one >= 0 && one <= 1) && (last !== "counted" || !steps || states.length > steps),
"The episode is not one that the contract allows for. Check its states, actions and rewards.",
);
}
export function count(question, episode, earned) {
admit(question, episode);
const { states, actions } = episode;
const { levels, resolution, last, layers, nexts } = question;
const cells = new Float64Array(question.cells);
actions.forEach((action, step) => {
const pair = ((layers > 1 ? step : 0) * question.states + states[step]) * question.actions + action;
const paid = question.objective === "cost" ? levels - earned[step] : earned[step];
const final = step + 1 === actions.length;
for (const { part, start } of question.slices) {
if (part === "visits") cells[start + pair] += resolution;
else if (part === "rewards") cells[start + pair] += (paid * resolution) / levels;
else if (part === "squares") cells[start + pair] += (paid * paid * resolution) / levels ** 2;
else if (part === "centred") cells[start + pair] += ((2 * paid - levels) * resolution) / (2 * levels);
else if (!final || last !== "dropped") {
cells[start + pair * nexts + (final && last === "end" ? nexts - 1 : states[step + 1])] += resolution;
}
}
});
return cells;
}
export function category(question, episode, earned, at) {
admit(question, episode);
const { kind, states: size, actions: choices, horizon, layers, nexts, width } = question;
const { states, actions } = episode;
const end = question.last === "end";
const pair = (step) => states[step] * choices + actions[step];
const asked = kind === "asked";
const step = asked ? actions.findIndex((_, one) => (layers > 1 ? one * size * choices : 0) + pair(one) === at) : at;
if (!(step in actions) || (asked && end && step + 1 === horizon)) return width - 1;
const following = end && step + 1 === actions.length ? size : states[step + 1];
const bit = question.objective === "cost" ? 1 - earned[step] : earned[step];
return ((asked ? 0 : pair(step) * nexts) + following) * 2 + bit;
}
export function weighted(law) {
let left = below(law.reduce((sum, one) => sum + one));
return law.findIndex((one) => (left -= one) < 0);
}
export function answer(question, episode) {
const earned = episode.rewards.map((reward) => {
const low = Math.floor(reward * question.levels);
return low + (chance(reward * question.levels - low) ? 1 : 0);
});
if (question.kind === "counts") return { row: 0, cells: count(question, episode, earned) };
const at = question.law ? weighted(question.law) : below(question.horizon);
const cells = new Float64Array(question.width);
cells[category(question, episode, earned, at)] = 1;
return { row: question.rows > 1 ? at : 0, cells };
}
const WRONG = "The contract's noise does not fit its question. Update the contract.";
const positive = (value) => typeof value === "number" && value > 0 && value < Infinity;
export function mechanism(question, told) {
require(MAKERS[told.mechanism], `This version knows no mechanism called ${told.mechanism}. Update it.`);
return MAKERS[told.mechanism](question, told);
}
const ENCODERS = {
__proto__: null,
unary: (cells, truth, epsilon) => cells.map((_, at) => +(at === truth ? coin() : rare(epsilon))),
"k-ary": subset,
subset,
};
function subset(cells, truth, epsilon, size) {
const { length } = cells;
const others = [...cells.keys()].filter((at) => at !== truth);
let held;
do held = below(length) < size;
while (!held && !exp(epsilon));
cells.fill(0)[truth] = +held;
for (let one = size - held; one--; ) cells[others.splice(below(others.length), 1)] = 1;
return cells;
}
function subsetSize(epsilon, length) {
const variance = (size) => {
const hit = 1 / (1 + (length / size - 1) * Math.exp(-epsilon));
const miss = (size - hit) / (length - 1);
return (miss - miss ** 2) / (hit - miss) ** 2;
};
const middle = Math.max(1, Math.floor(length / (Math.exp(epsilon) + 1)));
return middle + 1 < length && variance(middle + 1) < variance(middle) ? middle + 1 : middle;
}
function categories({ kind, width }, { epsilon, categories: size, encoding }) {
const encode = ENCODERS[encoding];
require(kind !== "counts" && size === width && positive(epsilon) && encode, WRONG);
const index = encoding === "k-ary";
const names = index ? 1 : encode === subset && subsetSize(epsilon, size);
const randomise = (cells) => encode(cells, cells.indexOf(1), epsilon, names);
return { packing: index ? "index" : "bits", names, units: 1, randomise, limits: () => [0, 1], loss: { epsilon } };
}
function response(question, { bit_epsilon: bit, grid }) {
const { kind, resolution, slices } = question;
require(kind === "counts" && resolution === 1 && positive(bit) && grid === 1, WRONG);
const randomise = (cells) => {
const told = new Float64Array(cells.length);
for (const { start, end, trials } of slices) {
for (let at = start; at < end; at++) {
for (let one = 0; one < trials; one++) told[at] += (one < cells[at]) !== rare(bit);
}
}
return told;
};
const limits = ({ trials }) => [0, trials];
return { packing: "whole", units: 1, randomise, limits, loss: { epsilon: bit * sensitivity(question).l1 } };
}
function additive({ kind, resolution }, { grid }, scale, reach, most, sampler, loss) {
const units = Math.round(1 / (resolution * grid));
const all = resolution * units;
require(
kind === "counts" && positive(scale) && grid > 0 && Math.abs(all * grid - 1) < 1e-12 && scale * all >= 2 ** -6 && scale * all <= most,
WRONG,
);
const draw = sampler(...atLeast(scale, all));
const limits = ({ part, trials }) => {
const half = part === "centred" ? trials / 2 : 0;
return [Math.floor(((-half - reach) / grid) * (1 - 1e-12)), Math.ceil(((trials - half + reach) / grid) * (1 - 1e-12))];
};
return { packing: "whole", units, randomise: (cells) => cells.map((one) => one + draw()), limits, loss };
}
function laplaceNoise(question, told) {
const { scale } = told;
const loss = { epsilon: sensitivity(question).l1 / scale };
return additive(question, told, scale, scale * 20 * Math.LN2, 2 ** 40, (p, q) => () => laplace(p, q), loss);
}
function gaussianNoise(question, told) {
const { sigma, grid } = told;
const { l2 } = sensitivity(question);
const effective = grid <= sigma / 16 ? Math.sqrt(sigma ** 2 - (1.5 * grid) ** 2) : 0;
const loss = { mu: l2 / effective, rho: l2 ** 2 / (2 * sigma ** 2) };
return additive(question, told, sigma, sigma * 4.900964207963194, 2 ** 26, gaussian, loss);
}
const MAKERS = { __proto__: null, categories, "randomised-response": response, laplace: laplaceNoise, gaussian: gaussianNoise };
export function keeps({ epsilon: pure, mu, rho: spent = Math.min(pure ** 2 / 2, pure) }, { epsilon, delta, rho }) {
if (rho != null) return spent <= rho;
if (mu !== undefined) return delta > 0 && gaussianDelta(mu, epsilon) <= delta;
return (epsilon >= pure ? 0 : -Math.expm1(epsilon - pure) / (1 + Math.exp(-pure))) <= delta;
}
function scaledErfc(x) {
if (x < 1) {
let [term, sum] = [x, x];
for (let n = 1; term > 1e-17 * sum; n++) sum += term *= (2 * x * x) / (2 * n + 1);
return Math.exp(x * x) - (2 / Math.sqrt(Math.PI)) * sum;
}
let tail = 0;
for (let n = 200; n > 0; n--) tail = n / 2 / (x + tail);
return 1 / (Math.sqrt(Math.PI) * (x + tail));
}
export function gaussianDelta(mu, epsilon) {
if (!(mu < Infinity)) return 1;
const a = (epsilon / mu - mu / 2) / Math.SQRT2;
const b = (epsilon / mu + mu / 2) / Math.SQRT2;
const factor = Math.exp(-a * a) / 2;
const first = a < 0 ? 1 - factor * scaledErfc(-a) : factor * scaledErfc(a);
return first * (1 + 1e-13) - factor * scaledErfc(b);
}
export const ACCEPTED = {"local":{"counts":["laplace","gaussian","randomised-response"],"step":["unary","k-ary","subset"],"asked":["unary","k-ary","subset"]},"shuffle":{"bits":["shuffled-bits"],"step":["shuffled-step"]},"joint":{"counts":["tree-laplace","tree-gaussian","toeplitz","buffered-toeplitz"],"budgeted":["tree-gaussian","toeplitz","buffered-toeplitz"]}};
export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
export const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
export async function readContract(bytes) {
const hash = await sha256(bytes);
const told = sensible(() => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
const tickets = told?.trust === "shuffle" || told?.trust === "joint" ? await import("./confide-tickets.js") : null;
return { ...sensible(() => read(told, tickets)), hash, pin: `sha256:${hex(hash)}` };
}
function sensible(work) {
try {
return work();
} catch (error) {
throw error instanceof Refusal ? error : new Refusal("The contract cannot be read. Update it.");
}
}
function read(told, tickets) {
require(
told.schema === "confide.contract/1" && told.reports_per_person === 1 && (tickets || told.trust === "local"),
"This version keeps contracts of trust local, shuffle or joint, and one report a person. Update it.",
);
const { promise } = told;
const { epsilon, delta, rho } = promise;
require(
(rho === null) !== (epsilon === null) && (rho ?? epsilon) > 0 && delta >= 0 && delta < 1 && told.window.seconds >= 0 && told.operator &&
told.labels.states.length === told.spec.states && told.labels.actions.length === told.spec.actions,
"The contract has no operator, labels, window or promise that can be kept. Update it.",
);
const known = ACCEPTED[told.trust][told.question.kind];
require(
known?.includes(noiseWord(told.mechanism)),
`The combination of ${told.question.kind} with ${noiseWord(told.mechanism)} under trust ${told.trust} is not in the table of what is accepted. Update the contract.`,
);
const { question, mechanism: noise, ...way } = tickets ? tickets.readTicketed(told) : kept(told);
question.digest = fromHex(told.question.digest);
const design = { digest: fromHex(told.design_digest), question, mechanism: noise };
require(design.digest.length === 16 && question.digest.length === 16, "The contract's fingerprints are none. Update it.");
return { ...told, ...way, design, key: fromBase64(told.key) };
}
const noiseWord = ({ mechanism: name, encoding, node, categories }) =>
name === "categories" ? encoding : name === "tree" ? `tree-${node}` : name === "shuffled-bits" && categories ? "shuffled-step" : name;
function kept(told) {
const question = ask(told.spec, told.question);
const noise = mechanism(question, told.mechanism);
require(keeps(noise.loss, told.promise), "The contract's noise does not keep its promise. Tell its operator.");
return { question, mechanism: noise };
}
export function weaker(now, before) {
const [next, last] = [now.intermediary, before.intermediary];
return (
now.trust !== before.trust || now.window.seconds < before.window.seconds || (now.trust === "shuffle" && now.design.mechanism.loss.epsilon > before.design.mechanism.loss.epsilon) ||
next?.key !== last?.key || (next && next.operator === now.operator && now.operator !== last.operator) ||
["epsilon", "delta", "rho"].some((name) => (now.promise[name] === null) !== (before.promise[name] === null) || now.promise[name] > before.promise[name])
);
}
export function respond(design, episode, law = design.question.law) {
const { units, randomise } = design.mechanism;
const { row, cells } = answer({ ...design.question, law }, episode);
return pack(design, row, clamp(design, randomise(units > 1 ? cells.map((one) => one * units) : cells)));
}
export function clamp({ question, mechanism }, cells) {
for (const slice of question.kind === "counts" ? question.slices : []) {
const [low, high] = mechanism.limits(slice);
for (let at = slice.start; at < slice.end; at++) cells[at] = Math.min(Math.max(cells[at], low), high);
}
return cells;
}
export function wholeType({ question, mechanism }) {
const top = Math.max(0, ...question.slices.flatMap(mechanism.limits).map(Math.abs));
return [7, 15, 31, 63].findIndex((bits) => top < 2 ** bits);
}
export function pack(design, row, cells) {
const { digest, question, mechanism } = design;
const index = mechanism.packing === "index";
const bits = mechanism.packing === "bits";
const kind = index || bits ? 0 : wholeType(design);
const size = 2 ** kind;
const out = new Uint8Array(42 + (index ? 4 : bits ? Math.ceil(cells.length / 8) : cells.length * size));
const view = new DataView(out.buffer);
out.set([0x63, 0x66, 0x72, 0x32, ...digest, ...question.digest, mechanism.level ?? 0, index ? 0 : bits ? 1 : kind + 2]);
view.setUint32(38, row, true);
if (index) view.setUint32(42, cells.indexOf(1), true);
else if (bits) cells.forEach((bit, at) => (out[42 + (at >> 3)] |= bit << (at & 7)));
else {
const put = ["setInt8", "setInt16", "setInt32", "setBigInt64"][kind];
cells.forEach((one, at) => view[put](42 + at * size, kind === 3 ? BigInt(one) : one, true));
}
return out;
}
const OUTCOMES = ["counted", "counted before"];
const FINAL = ["closed", "contract", "ended", "garbage", "length", "report", "ticket"];
export const reading = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
export function verdict({ status, headers, told }, contract) {
if ((status === 200 || status === 201) && OUTCOMES.includes(told.outcome)) return "counted";
const reason = /^urn:confide:problem:(\w+)$/.exec(told.type)?.[1];
const own = /^application\/problem\+json\b/.test(headers.get("content-type")) && told.status === status && typeof told.contract === "string";
if (own && FINAL.includes(reason) && (told.contract !== hex(contract)) === (reason === "contract")) return "dropped";
return Math.max(0, Math.min(Number(headers.get("retry-after")) || 0, 3600));
}
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
if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
return new Uint8Array(await answer.arrayBuffer());
};
const heard = async (answer) => ({ status: answer.status, headers: answer.headers, told: Object(await answer.json().catch(() => null)) });
return {
get: (path, signal, more) => call(path, signal, (answer) => document(path, answer), more),
post: (path, type, body, signal) =>
call(path, signal, heard, { method: "POST", headers: { "content-type": type }, body, keepalive: body.length < 60000 }),
};
}
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
if (found.hash === held?.hash) return found;
const { round } = found;
require(
found.contract === hex(contract) && !(held && (round <= held.round || (round === held.round + 1 && found.previous !== held.hash))),
`The service shows a round ${round} that does not follow round ${held?.round} of this contract; it is not followed.`,
);
return found;
}
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
export async function readLaw(bytes, name, { kind, rows, digest }) {
const good =
kind === "asked" && hex(await sha256(bytes)) === name && text(bytes) === "cfa1" && bytes.length === 20 + 8 * rows && digest.every((byte, at) => bytes[4 + at] === byte);
const law = good ? Array.from({ length: rows }, (_, at) => Number(viewed(bytes).getBigUint64(20 + 8 * at, true))) : [];
const total = law.reduce((sum, one) => sum + one, 0);
require(total > 0 && total < 2 ** 53, "The service asks about pairs by no law, or by another than it signed; it is not followed.");
return law;
}
export function letter(id, contract, round, report) {
const body = new Uint8Array([0x63, 0x66, 0x6c, 0x31, ...id, ...contract, 0, 0, 0, 0, ...report]);
new DataView(body.buffer).setUint32(52, round, true);
return body;
}
const PATIENCE = 5000;
export function memoryStorage() {
const kept = new Map();
return { get: (key) => kept.get(key) ?? null, set: (key, text) => void kept.set(key, text) };
}
export async function browserStorage() {
if (!("indexedDB" in globalThis)) return null;
const page = "window" in globalThis;
const database = await openDatabase().catch(() => null);
let local = null;
try {
if (page) spentOf((local = window.localStorage).getItem("confide"));
} catch {
local = null;
}
if (!database || (page && !local)) return { ...(database ?? memoryStorage()), whole: false };
return page ? both(database, local) : database;
}
function both(database, local) {
return {
get: async (key) => {
const text = await database.get(key);
const spent = spentOf(text);
const more = lacking(spent, spentOf(local.getItem(key)));
return more.length ? JSON.stringify({ services: {}, ...JSON.parse(text), spent: [...spent, ...more] }) : text;
},
set: (key, text) => {
const kept = local.getItem(key);
const spent = spentOf(kept);
const more = lacking(spent, spentOf(text));
if (more.length) local.setItem(key, JSON.stringify({ ...JSON.parse(kept), spent: [...spent, ...more] }));
return database.set(key, text);
},
};
}
const spentOf = (text) => JSON.parse(text)?.spent ?? [];
const lacking = (known, marks) => marks.filter((mark) => !known.some((one) => String(one) === String(mark)));
async function openDatabase() {
const request = indexedDB.open("confide-device", 1);
request.onupgradeneeded = () => request.result.createObjectStore("kept");
const database = await Promise.race([settled(request), new Promise((_, failed) => setTimeout(failed, PATIENCE))]);
const store = (mode) => database.transaction("kept", mode, { durability: "strict" }).objectStore("kept");
return {
get: async (key) => (await settled(store("readonly").get(key))) ?? null,
set: (key, text) =>
new Promise((done, failed) => {
const { transaction } = store("readwrite").put(text, key);
transaction.oncomplete = done;
transaction.onabort = () => failed(transaction.error);
}),
};
}
function settled(request) {
return new Promise((done, failed) => {
request.onsuccess = () => done(request.result);
request.onerror = request.onblocked = () => failed(request.error);
});
}
const turns = new WeakMap();
const locks = () => globalThis.navigator?.locks;
const episodeLock = (id) => `confide-episode-${id}`;
export function exclusive(storage, work) {
if (locks()) return locks().request("confide-device", { signal: AbortSignal.timeout(PATIENCE) }, work);
const turn = (turns.get(storage) ?? Promise.resolve()).then(work, work);
turns.set(storage, turn);
return turn;
}
export async function hold(id) {
let release;
const over = new Promise((done) => (release = done));
if (locks()) await new Promise((held) => locks().request(episodeLock(id), () => (held(), over)));
return release;
}
export async function isHeld(id) {
return (await locks()?.query())?.held.some(({ name }) => name === episodeLock(id));
}
export class Episode {
#with;
#states = [];
#actions = [];
#rewards = [];
#next = null;
#over = false;
#finished = null;
due = null;
constructor(parts) {
this.#with = parts;
}
act(state) {
const { contract, policy } = this.#with;
if (!contract) return 0;
const { spec, labels } = contract;
const where = number(state, labels.states);
const known = inside(where, spec.states);
const step = this.#rewards.length;
const action = known && policy ? drawn(policy(Math.min(step, spec.horizon - 1), where)) : below(spec.actions);
if (!known) this.#end("state");
else if (!this.#over && (step < spec.horizon || this.#states.length === step)) {
this.#states[step] = where;
if (step < spec.horizon) this.#actions[step] = action;
}
return typeof state === "string" ? labels.actions[action] : action;
}
observe(reward, nextState = null, action = this.#actions.at(-1)) {
const { contract, tell } = this.#with;
const step = this.#rewards.length;
if (!contract || this.#over || step === this.#actions.length) return;
const { states, actions } = contract.labels;
const done = number(action, actions);
if (!inside(done, actions.length)) return this.#end("action");
this.#actions[step] = done;
const earned = typeof reward === "number" && reward > 0 ? Math.min(reward, 1) : 0;
if (earned !== reward) tell("input", "A reward outside [0, 1] was given; it was clipped.");
this.#rewards.push(earned);
this.#next = number(nextState, states);
}
finish() {
this.#over = true;
this.#finished ??= this.#with.conclude(this.#lived());
return this.#finished;
}
#end(what) {
this.#over = true;
this.#with.tell("input", `A ${what} was given that the contract does not know; the rest is not reported.`);
}
#lived() {
const { contract } = this.#with;
const rewards = this.#rewards.slice();
const states = this.#states.slice(0, rewards.length + 1);
if (states.length === rewards.length && inside(this.#next, contract?.spec.states)) states.push(this.#next);
if (states.length === rewards.length && contract?.question.last === "counted") rewards.pop();
return { states, actions: this.#actions.slice(0, rewards.length), rewards };
}
}
const number = (label, labels) => (typeof label === "string" ? labels.indexOf(label) : label);
function drawn(chances) {
let left = 1;
for (let action = 0; action < chances.length - 1; action++) {
if (chance(chances[action] / left)) return action;
left -= chances[action];
}
return chances.length - 1;
}
const BLANK = '{"spent":[],"services":{}}';
const LETTER = "application/vnd.confide.letter";
const LOST = 3600000;
const GONE = 60000;
const LOOK = 900000;
const TIMEOUT = 10000;
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
#tries = 0;
#timer;
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
const told = { contract: this.contract, policy, tell: (...event) => this.#tell(...event) };
const episode = new Episode({ ...told, conclude: (lived) => this.#quietly(() => this.#conclude(opened, lived)) });
if (opened?.windowed) {
episode.due = opened.due;
later(opened.due - now(), () => episode.finish());
}
return episode;
}
flush() {
this.#sending = this.#sending.then(() => this.#quietly(() => this.#send()));
return this.#sending.then((done) => done !== false);
}
#deadline(share = 1) {
return AbortSignal.timeout(Math.ceil(share * Math.min(Math.max(Number(this.#options.timeout) || TIMEOUT, 1), 1e9)));
}
async #enter(signal) {
if (this.#storage?.whole === false) this.contract = this.refusal = this.round = this.#policies = null;
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
const next = stays && head?.ended && head.successor;
this.contract = stays && !next ? joined : await this.#accept(next ? `sha256:${next}` : pin, joined, stays, signal);
} catch (error) {
if (error instanceof Refusal) this.refusal = error.message;
else if (stays) this.contract = joined;
this.#complain(error);
}
}
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
const highest = seen?.[pin] ?? head;
const found = await readRound(await this.#service.get("/v1/rounds/current", signal, { cache: "no-store" }), this.contract, highest);
await this.#climb(highest, found, signal);
if (found.hash === head?.hash) return this.#compare(head, signal).catch((error) => this.#forget(error));
await this.#fetch(found, signal);
await this.#change((memory) => {
if (!(memory.head?.round > found.round)) memory.head = found;
if (!(memory.seen?.[pin]?.round > found.round)) memory.seen = { ...memory.seen, [pin]: { round: found.round, hash: found.hash } };
});
}
async #climb(step, found, signal) {
while (step && step.round + 1 < found.round) {
const next = await readRound(await this.#service.get(`/v1/rounds/${step.round + 1}`, signal), this.contract, step);
require(next.round === step.round + 1, `The service shows another round than ${step.round + 1}; it is not followed.`);
step = next;
}
require(!step || step.hash === found.hash || step.hash === found.previous, `Round ${found.round} does not follow from those before it; it is not followed.`);
}
async #compare(head, signal) {
const short = this.#deadline(1 / 3);
const seen = await this.#witness?.get(`/v1/rounds/${head.round}`, AbortSignal.any?.([signal, short]) ?? short).catch(() => null);
require(
!seen || (await readRound(seen, this.contract)).hash === head.hash,
`The witness knows another round ${head.round} than the service shows; it is not followed.`,
);
}
async #forget(error) {
this.round = this.#policies = null;
await this.#change((memory) => (memory.head = null));
throw error;
}
async #fetch(head, signal) {
await this.#compare(head, signal);
head.bytes = toBase64(await this.#service.get(`/v1/policies/${head.policy}`, signal));
const { question } = head;
head.law = question && (await readLaw(await this.#service.get(`/v1/questions/${question}`, signal), question, this.contract.design.question));
await this.#use(head);
}
async #use(head) {
this.#policies = await readPolicies(fromBase64(head.bytes), head.policy, this.contract.spec);
this.round = head.round;
this.#law = head.law ?? undefined;
}
async #open(signal) {
if (!this.#policies) return null;
if (this.#storage.whole === false) {
this.#tell("offline", "What was reported before cannot be read now: the policy is followed, and nothing is sent.");
return null;
}
const { operator, key, window, between } = this.contract;
const mark = [operator, toBase64(key), this.#url];
const over = (memory, spent) => memory.head.ended || spent.some((one) => one.some((part, at) => part === mark[at]));
const done = await this.#change(over);
const place = between && !done && (await this.#ticket(signal));
if (place === null) return null;
const id = hex(crypto.getRandomValues(new Uint8Array(16)));
this.#live.set(id, await hold(id));
const opened = await this.#change((memory, spent) => {
if (over(memory, spent)) return null;
spent.push(mark);
const windowed = window.seconds > 0;
return (memory.open = { ...place, id, windowed, due: now() + this.#delay(), round: this.round, law: this.#law });
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
#beat({ id, windowed }) {
const beat = async () => {
if (!this.#live.has(id) || (await isHeld(id))) return;
await this.#quietly(() => this.#change(({ open }) => open?.id === id && (open.due = now())));
later(LOST / 4, beat);
};
if (!windowed) later(LOST / 4, beat);
}
async #ticket(signal) {
const place = await this.#between().ticket(signal);
if (!place) this.#tell("full", "All places are taken: the policy is followed, and nothing is sent.");
else if (place.round !== this.round) {
const found = await readRound(await this.#service.get(`/v1/rounds/${place.round}`, signal), this.contract);
require(found.round === place.round, `The service shows another round than ${place.round}; it is not followed.`);
await this.#fetch(found, signal);
}
return place;
}
#between() {
return (this.#line ??= this.contract.between(this.contract, this.#service, this.#at));
}
async #draw({ id }, lived) {
const { design, hash, parcel } = this.contract;
const drawn = await this.#change((memory) => {
if (memory.open?.id !== id) return null;
const { due, round, ticket, batch, law } = memory.open;
const body = ticket ? parcel(this.contract, memory.open, lived) : letter(fromHex(id), hash, round, respond(design, lived, law));
memory.letter = { due, batch, body: toBase64(body) };
memory.open = null;
return body;
});
this.#release(id);
return drawn;
}
async #conclude(opened, lived) {
const body = opened && (await this.#draw(opened, lived));
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
const { epoch, wait } = end;
await this.#change((memory) => {
if (memory.letter?.body !== kept.body) return;
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
async #abandoned({ id, windowed }) {
const held = await isHeld(id);
const open = !held && (await this.#change((memory) => memory.open?.id === id && this.#inReach(memory.open)));
const left = open ? open.due + (windowed ? (held === false ? 0 : GONE) : LOST) - now() : GONE;
if (left > 0) this.#again(left);
else await this.#draw(open, { states: [], actions: [], rewards: [] });
}
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
