/** How numbers become a message, and what that gives away; proofs in confide/mechanisms. */

import { atLeast, below, coin, exp, gaussian, laplace, rare } from "./random.js";
import { require, sensitivity } from "./question.js";

const WRONG = "The contract's noise does not fit its statistic. Update it.";
const positive = (value) => typeof value === "number" && value > 0 && value < Infinity;

/** {packing, units in 1/resolution, randomise, limits of a slice, loss: {epsilon} or {mu, rho}} */
export function mechanism(question, told) {
  require(MAKERS[told.mechanism], `This version knows no mechanism called ${told.mechanism}. Update it.`);
  return MAKERS[told.mechanism](question, told);
}

const ENCODERS = {
  __proto__: null,
  /** A fair coin for the true bit; any other is one with probability 1/(e^eps + 1). */
  unary: (cells, truth, epsilon) => cells.map((_, at) => +(at === truth ? coin() : rare(epsilon))),
  "k-ary": subset,
  subset,
};

/** A set: one with the true category has weight 1, any other e^-eps. */
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

/** The whole number next to k/(e^eps + 1) with the least variance. */
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

/** Noise on a grid that divides 1/resolution. Beyond its reach (a chance of 2^-20) a cell is clamped. */
function additive({ kind, resolution }, { grid }, scale, reach, most, sampler, loss) {
  const units = Math.round(1 / (resolution * grid));
  const all = resolution * units;
  require(
    kind === "counts" && positive(scale) && grid > 0 && Math.abs(all * grid - 1) < 1e-12 && scale * all >= 2 ** -6 && scale * all <= most,
    WRONG,
  );
  const draw = sampler(...atLeast(scale, all));
  // Never beyond the limits of the aggregate, though their floats may differ in the last digit.
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
  // On a coarser grid than sigma/16 there is rho only.
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

/** erfc(x) e^(x^2), x >= 0. */
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

/** Phi(-a) - e^epsilon Phi(-b), a, b = epsilon/mu -+ mu/2 (Balle and Wang 2018), rounded up. */
export function gaussianDelta(mu, epsilon) {
  if (!(mu < Infinity)) return 1;
  const a = (epsilon / mu - mu / 2) / Math.SQRT2;
  const b = (epsilon / mu + mu / 2) / Math.SQRT2;
  const factor = Math.exp(-a * a) / 2; // e^epsilon e^(-b^2) = e^(-a^2)
  const first = a < 0 ? 1 - factor * scaledErfc(-a) : factor * scaledErfc(a);
  return first * (1 + 1e-13) - factor * scaledErfc(b);
}
