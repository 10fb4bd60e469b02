/** Services about described features: what is observed as numbers, its moments, and how they are reported; confide/mdp/described.py, protocol/kinds/moments.py and mechanisms/privunit.py have the proofs. */

import { inside, require } from "./question.js";
import { atLeast, below, exp, gaussian } from "./random.js";

const MOST = { inputs: 64, values: 4096, terms: 512, actions: 4096, power: 16, size: 1e6, candidates: 4096, numbers: 2 ** 24 };
const ROUNDED = 1e-9;
const NO_REWARD = 0; // the outcome of a choice of which none was known by the time of sending

const demand = (holds) => require(holds, "The contract describes features as this version does not know, or with other numbers. Update it.");
const several = (list, least, most) => Array.isArray(list) && list.length >= least && list.length <= most;
const differ = (names) => new Set(names).size === names.length && names.every((name) => typeof name === "string" && name);
const finite = (value, most = MOST.size) => typeof value === "number" && Math.abs(value) <= most;
const positive = (value) => finite(value, Number.MAX_VALUE) && value > 0;
const dot = (first, second) => first.reduce((sum, one, at) => sum + one * second[at], 0);

/** {inputs, actions, blocks, dimension, ahead, encode, x, psi} of a description; encode gives null for what it does not know. */
export function describe(told) {
  const { inputs, actions, numbers, terms, mix, next_terms: following, next_mix: nextMix } = told;
  demand(told.format === "confide.features/1" && several(inputs, 1, MOST.inputs) && several(actions, 1, MOST.actions) && differ(actions));
  const places = inputs.map((each, at) => {
    const listed = "category" in each;
    demand(listed ? several(each.values, 1, MOST.values) && differ(each.values) : finite(each.low, Number.MAX_VALUE) && finite(each.high, Number.MAX_VALUE) && each.low < each.high);
    return { ...each, at, listed, name: listed ? each.category : each.number };
  });
  const named = Object.fromEntries(places.map((each) => [each.name, each]));
  demand(differ([...places.map(({ name }) => name), ...Object.keys(numbers)]));
  for (const values of Object.values(numbers)) demand(several(values, actions.length, actions.length) && values.every((one) => finite(one)));
  const factor = (one) => {
    if ("action" in one) return demand(Array.isArray(numbers[one.action])), (row, action) => numbers[one.action][action];
    const listed = "is" in one;
    const each = named[listed ? one.category : one.number];
    const form = ["power", "cos", "sin"].find((name) => name in one);
    demand(each?.listed === listed && (listed ? each.values.includes(one.is) : form && inside(one[form] - 1, MOST.power)));
    if (listed) return (row) => +(row[each.at] === each.values.indexOf(one.is));
    const place = (row) => (2 * (Math.min(Math.max(row[each.at], each.low), each.high) - each.low)) / (each.high - each.low) - 1;
    return form === "power" ? (row) => place(row) ** one.power : (row) => Math[form](Math.PI * one[form] * place(row));
  };
  const mixed = (list, rows) => {
    demand(several(list, 0, MOST.terms) && several(rows, 0, MOST.terms) && rows.every((row) => several(row, list.length, list.length) && row.every((one) => finite(one))));
    const products = list.map((term) => term.map(factor));
    return (row, action) => {
      const values = products.map((term) => term.reduce((product, one) => product * one(row, action), 1));
      return rows.map((weights) => dot(weights, values));
    };
  };
  demand(terms.length && mix.length && !following.flat().some((one) => "action" in one));
  const encode = (observed) => {
    const known = observed !== null && typeof observed === "object" && Object.keys(observed).length === places.length;
    const row = places.map(({ name, listed, values, low, high }) => {
      const value = known && Object.hasOwn(observed, name) ? observed[name] : undefined;
      if (listed) return values.indexOf(value);
      return finite(value, Number.MAX_VALUE) ? Math.min(Math.max(value, low), high) : -1 / 0;
    });
    return row.every((one, at) => one >= (places[at].listed ? 0 : places[at].low)) ? row : null;
  };
  const shared = terms.flat().some((one) => "action" in one);
  return {
    inputs: places,
    actions,
    blocks: shared ? 1 : actions.length,
    dimension: mix.length,
    ahead: nextMix.length,
    encode,
    x: mixed(terms, mix),
    psi: mixed(following, nextMix),
  };
}

/** {question, mechanism, observed} of a contract about moments; a curator computes them from the episode itself, without a mechanism here. shares: the module for shares of noise, where there are. */
export function readKind(told, shares) {
  const { spec, question: asked, mechanism, trust } = told;
  const features = describe(asked.features);
  const [horizon, layers] = [spec.horizon, spec.model === "per-step" ? spec.horizon : 1];
  const [rewardWeight, nextWeight] = asked.weights;
  const [gram, vector] = asked.bounds;
  demand(inside(horizon - 1, 2 ** 24) && ["stationary", "per-step"].includes(spec.model) && spec.actions === features.actions.length);
  demand([rewardWeight, gram, vector].every(positive) && finite(nextWeight) && nextWeight >= 0);
  const single = horizon === 1;
  const targets = single ? 1 : 1 + features.ahead;
  const upper = (features.dimension * (features.dimension + 1)) / 2;
  const part = upper + features.dimension * targets;
  const width = layers * features.blocks * part;
  demand(width <= 2 ** 24 && (!single || Math.abs(vector / (rewardWeight / 2) / Math.sqrt(gram) - 1) < 1e-9));
  const slices = Array.from({ length: layers * features.blocks }, (_, at) => [
    { part: "gram", bound: gram, start: at * part, end: at * part + upper },
    { part: "vector", bound: vector, start: at * part + upper, end: (at + 1) * part },
  ]).flat();
  const question = { kind: "moments", ...{ features, horizon, layers, single, targets, part, upper, width, slices, cells: width, rows: 1 }, rewardWeight, nextWeight, gram, vector };
  const noise = trust === "joint" ? null : { __proto__: null, privunit: privUnit, gaussian: gaussianMoments, skellam: () => sharedMoments(question, told, shares) }[mechanism.mechanism](question, mechanism);
  question.answer = (_, lived) => ({ row: 0, cells: moments(question, lived).map((one) => Math.round(one / mechanism.grid)) });
  question.bytes = observedBytes;
  return { question, mechanism: noise, observed: { Episode: ObservedEpisode, weights: readWeights(question) } };
}

/** Refuses an episode that no person can have lived. */
function lawful({ features, horizon, single }, { states, actions, rewards }) {
  const steps = actions.length;
  require(
    steps <= horizon && rewards.length === steps && states.length <= steps + 1 && states.length >= steps + (steps > 0 && !single) &&
      states.every((row) => row.length === features.inputs.length && row.every((one) => Number.isFinite(one))) && actions.every((one) => inside(one, features.actions.length)) && rewards.every((one) => one >= 0 && one <= 1),
    "The episode is not one that the contract allows for. Check what was observed, actions and rewards.",
  );
}

/** (cells,) sums of x x', the diagonal over sqrt 2, and of x y', block by block, shortened to their bounds. */
export function moments(question, lived) {
  lawful(question, lived);
  const { features, layers, single, targets, part, upper, rewardWeight, nextWeight, slices } = question;
  const cells = new Float64Array(question.width);
  lived.actions.forEach((action, step) => {
    const x = features.x(lived.states[step], action);
    const ahead = single ? [] : features.psi(lived.states[step + 1]);
    const y = [rewardWeight * (lived.rewards[step] - 0.5), ...ahead.map((one) => nextWeight * one)];
    let at = ((layers > 1 ? step * features.blocks : 0) + (features.blocks > 1 ? action : 0)) * part;
    const vector = at + upper;
    x.forEach((first, one) => {
      for (let other = one; other < x.length; other++) cells[at++] += first * x[other] * (other === one ? Math.SQRT1_2 : 1);
      y.forEach((each, target) => (cells[vector + one * targets + target] += first * each));
    });
  });
  // Norms are taken once more of the very numbers that are sent.
  for (let time = 0; time < 2; time++) {
    const square = { gram: 0, vector: 0 };
    for (const { part: name, start, end } of slices) for (let at = start; at < end; at++) square[name] += cells[at] ** 2;
    const kept = Math.min(1, question.gram / Math.sqrt(2 * square.gram), question.vector / Math.sqrt(square.vector));
    if (kept < 1) for (let at = 0; at < cells.length; at++) cells[at] *= kept;
  }
  return cells;
}

/** Never beyond the limits of the aggregate, though their floats may differ in the last digit. */
const limitsBy = (reach, grid) => ({ bound }) => {
  const far = bound * (1 + ROUNDED) + ROUNDED + reach;
  return [Math.floor((-far / grid) * (1 - 1e-12)), Math.ceil((far / grid) * (1 - 1e-12))];
};

/** The l2 of two people whose cells are rounded to a grid: confide/protocol/kinds/moments.py. */
function price({ features, horizon, layers, single, part, rewardWeight, gram, vector }, grid) {
  const most = (rewardWeight / 2) ** 2;
  const square = !single ? gram ** 2 + 4 * vector ** 2 : most <= gram ? gram ** 2 + 2 * gram * most + most ** 2 : 4 * gram * most;
  const touched = layers * Math.min(features.blocks, layers > 1 ? 2 : 2 * horizon) * part;
  return Math.sqrt(square) * (1 + ROUNDED) + grid * Math.sqrt(touched);
}

/** Shares of noise on every cell. */
function sharedMoments(question, told, shares) {
  const { grid, width } = told.mechanism;
  demand(positive(grid) && grid <= 1 && Number.isInteger(Math.log2(grid)) && width === question.width);
  return shares.shareNoise(told, (price(question, grid) / grid) ** 2, (reach) => limitsBy(reach * grid, grid));
}

/** Gaussian noise in every cell. */
function gaussianMoments(question, { sigma, grid }) {
  demand(positive(sigma) && positive(grid) && grid <= 1 && Number.isInteger(Math.log2(grid)) && sigma / grid <= 2 ** 40);
  const l2 = price(question, grid);
  const effective = grid <= sigma / 16 ? Math.sqrt(sigma ** 2 - (1.5 * grid) ** 2) : 0;
  const draw = gaussian(...atLeast(sigma, 1 / grid));
  const loss = { mu: l2 / effective, rho: l2 ** 2 / (2 * sigma ** 2) };
  return { packing: "whole", units: 1, randomise: (cells) => cells.map((one) => one + draw()), limits: limitsBy(sigma * 4.900964207963194, grid), loss };
}

/** Of M directions drawn at random k are favoured, those closest to the vector: exactly epsilon, whatever floats say of closeness. */
export function privUnit(question, told) {
  const { epsilon, vector, bound, candidates, favoured, length, grid } = told;
  demand([epsilon, bound, length, grid].every(positive) && grid <= 1 && vector === question.width);
  demand(inside(candidates - 2, MOST.candidates - 1) && candidates * (vector + 1) <= MOST.numbers && inside(favoured - 1, Math.floor(candidates / 2)));
  const randomise = (cells) => {
    const next = stream(crypto.getRandomValues(new Uint32Array(4)));
    const directions = Array.from({ length: candidates }, () => normals(next, vector + 1));
    const coins = Float64Array.from(cells, () => next() / 2 ** 32);
    const order = ranked(told, directions, cells);
    let place;
    do place = below(candidates);
    while (place >= favoured && !exp(epsilon));
    return pointed(told, directions[order[place]], coins);
  };
  return { packing: "whole", units: 1, randomise, limits: limitsBy(length + grid, grid), loss: { epsilon } };
}

/** Indices of directions, closest to the vector first, the first of equals first: always a permutation. */
export function ranked({ bound, grid }, directions, cells) {
  const near = [...cells].map((one) => (one * grid) / bound);
  const square = dot(near, near);
  const sphere = square > 1 ? [...near.map((one) => one / Math.sqrt(square)), 0] : [...near, Math.sqrt(1 - square)];
  const close = directions.map((each) => {
    let [along, size] = [0, 0];
    for (let at = 0; at < each.length; at++) {
      along += each[at] * sphere[at];
      size += each[at] * each[at];
    }
    return along / Math.sqrt(size) || 0;
  });
  return [...close.keys()].sort((one, other) => (close[other] > close[one]) - (close[other] < close[one]) || one - other);
}

/** The direction at the length that makes messages unbiased, each number rounded by its coin. */
export function pointed({ length, grid }, direction, coins) {
  const scale = length / Math.sqrt(dot(direction, direction));
  return coins.map((coin, at) => Math.floor((scale * direction[at]) / grid + coin));
}

/** Uniform words of 32 bits from 128 (sfc32). */
function stream([a, b, c, counter]) {
  const next = () => {
    const drawn = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  };
  for (let time = 0; time < 16; time++) next();
  return next;
}

/** Normal numbers (Box and Muller 1958). */
function normals(next, many) {
  const drawn = new Float64Array(many + (many & 1));
  for (let at = 0; at < many; at += 2) {
    const radius = Math.sqrt(-2 * Math.log((next() + 1) / 2 ** 32));
    const angle = 2 * Math.PI * (next() / 2 ** 32);
    drawn[at] = radius * Math.cos(angle);
    drawn[at + 1] = radius * Math.sin(angle);
  }
  return drawn.subarray(0, many);
}

/** "cfo1", steps (4), whether what follows the last step is known (4), observations (8 each of (H+1) k), actions (4 of H), rewards (8 of H): always as long as the longest. */
export function observedBytes(question, lived) {
  lawful(question, lived);
  const { horizon, features } = question;
  const { states, actions, rewards } = lived;
  const size = features.inputs.length;
  const after = 12 + 8 * size * (horizon + 1);
  const view = new DataView(new ArrayBuffer(after + 12 * horizon));
  view.setUint32(0, 0x63666f31);
  view.setUint32(4, actions.length, true);
  view.setUint32(8, +(states.length > actions.length), true);
  states.forEach((row, step) => row.forEach((one, at) => view.setFloat64(12 + 8 * (step * size + at), one, true)));
  actions.forEach((one, at) => view.setUint32(after + 4 * at, one, true));
  rewards.forEach((one, at) => view.setFloat64(after + 4 * horizon + 8 * at, one, true));
  return new Uint8Array(view.buffer);
}

/** Reads "cfw1", H, blocks, d (4 each), then weights (float64): a policy gives the best of the actions on offer, the first of equals; false if these are none. */
function readWeights({ features, horizon }) {
  return (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const shape = [horizon, features.blocks, features.dimension];
    const many = shape.reduce((product, one) => product * one);
    const good = bytes.length === 16 + 8 * many && view.getUint32(0) === 0x63667731 && shape.every((one, at) => view.getUint32(4 + 4 * at, true) === one);
    if (!good) return false;
    const weights = Float64Array.from({ length: many }, (_, at) => view.getFloat64(16 + 8 * at, true));
    const block = (step, at) => weights.subarray((step * features.blocks + at) * features.dimension).subarray(0, features.dimension);
    const score = (step, row, action) => dot(features.x(row, action), block(step, features.blocks > 1 ? action : 0));
    return weights.every(Number.isFinite) && ((step, row, offered) => {
      const scores = offered.map((action) => score(step, row, action));
      return offered[scores.indexOf(Math.max(...scores))];
    });
  };
}

/** One episode of what the contract describes, in memory only: actions come and go by name. */
export class ObservedEpisode {
  #with;
  #features;
  #rows = [];
  #actions = [];
  #rewards = [];
  #next = null;
  #awaited = false;
  #over = false;
  #finished = null;
  due = null;

  constructor(parts) {
    this.#with = parts;
    this.#features = parts.contract.design.question.features;
    parts.changed?.(() => this.#lived());
  }

  act(observed) {
    return this.#taken(observed, [...this.#features.actions.keys()]);
  }

  choose(context, actions = this.#features.actions) {
    const { spec, window } = this.#with.contract;
    const offered = actions.map((name) => this.#features.actions.indexOf(name));
    if (spec.horizon > 1 || !(window.seconds > 0)) this.#end("Choices need a contract of one step with a window; nothing is reported.");
    if (!offered.every((one) => one >= 0)) {
      this.#end("An action is on offer that the contract does not know; nothing is reported.");
      return actions[below(actions.length)];
    }
    this.#awaited = true;
    return this.#taken(context, offered);
  }

  reward(value) {
    this.observe(value);
  }

  #taken(observed, offered) {
    const { contract, policy } = this.#with;
    const step = this.#rewards.length;
    const row = this.#encoded(observed);
    const { horizon } = contract.spec;
    const action = row && policy ? policy(Math.min(step, horizon - 1), row, offered) : offered[below(offered.length)];
    if (row && !this.#over && step < horizon) {
      // An action whose outcome was never observed gives way to the next.
      this.#rows[step] = row;
      this.#actions[step] = action;
      this.#with.changed?.();
    }
    return this.#features.actions[action];
  }

  observe(reward, next = null, action = null) {
    const step = this.#rewards.length;
    if (this.#over || step === this.#actions.length) return;
    if (action !== null) {
      const done = this.#features.actions.indexOf(action);
      if (done < 0) return this.#end("An action was given that the contract does not know; the rest is not reported.");
      this.#actions[step] = done;
    }
    const earned = typeof reward === "number" && reward > 0 ? Math.min(reward, 1) : 0;
    if (earned !== reward) this.#with.tell("input", "A reward outside [0, 1] was given; it was clipped.");
    this.#rewards.push(earned);
    this.#next = next === null ? null : this.#encoded(next);
    this.#with.changed?.();
  }

  finish() {
    this.#over = true;
    this.#finished ??= this.#with.conclude(this.#lived());
    return this.#finished;
  }

  #encoded(observed) {
    const row = this.#features.encode(observed);
    if (!row) this.#end("Something was observed that the contract does not describe; the rest is not reported.");
    return row;
  }

  #end(sentence) {
    this.#over = true;
    this.#with.tell("input", sentence);
  }

  #lived() {
    const rewards = this.#rewards.slice();
    if (this.#awaited && rewards.length < this.#actions.length) rewards.push(NO_REWARD);
    const states = this.#rows.slice(0, rewards.length + 1);
    if (states.length === rewards.length && this.#next) states.push(this.#next);
    // A last step of several without a known next state is left out.
    if (states.length === rewards.length && this.#with.contract.spec.horizon > 1) rewards.pop();
    return { states, actions: this.#actions.slice(0, rewards.length), rewards };
  }
}
