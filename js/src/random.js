/** Exact chances: no probability is rounded, and a float is the rational it stands for (Canonne, Kamath, Steinke 2020). */

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

/** A fair coin: 31 bits of a word, below a one that marks their end. */
export function coin() {
  if (coins === 1) coins = word() | 2 ** 31;
  const bit = coins & 1;
  coins >>>= 1;
  return bit === 1;
}

/** Uniform on 0 .. size-1, size up to 2^53. */
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

/** Is a uniform number below this one, digit by digit? Every step is exact. */
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

/** True with probability exp(-g), where event() has probability g <= 1. */
function expOf(event) {
  let k = 1;
  while (below(k) === 0 && event()) k++;
  return k % 2 === 1;
}

/** True with probability exp(-x); taking 1 off a float above 1 is exact. */
export function exp(x) {
  for (; x >= 1; x--) if (!expOf(always)) return false;
  return expOf(() => chance(x));
}

/** True with probability 1/(e^x + 1): of weights 1 and e^-x the second. */
export function rare(x) {
  while (!coin()) if (exp(x)) return true;
  return false;
}

/** Discrete Laplace of scale p/q. */
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

/** Draws of the discrete Gaussian of sigma = p/q: a Laplace y, kept with exp(-(|y| - sigma^2/t)^2/(2 sigma^2)). */
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

/** [p, q] with p/q at least scale * times, exactly, and by a millionth above it at most: never less private. */
export function atLeast(scale, times) {
  let over = 1n;
  for (; !Number.isInteger(scale); over *= 2n) scale *= 2;
  const exact = BigInt(scale) * BigInt(times);
  for (let q = 1n; ; q *= 2n) {
    const p = (exact * q + over - 1n) / over;
    if ((p * over - exact * q) * 1000000n <= exact * q) return [Number(p), Number(q)];
  }
}
