/** The bytes of a report: README.md says how they are laid out. */

import { answer } from "./question.js";

export function respond(design, episode) {
  const { units, randomise } = design.mechanism;
  const { row, cells } = answer(design.question, episode);
  return pack(design, row, clamp(design, randomise(units > 1 ? cells.map((one) => one * units) : cells)));
}

export function clamp({ question, mechanism }, cells) {
  for (const slice of question.kind === "counts" ? question.slices : []) {
    const [low, high] = mechanism.limits(slice);
    for (let at = slice.start; at < slice.end; at++) cells[at] = Math.min(Math.max(cells[at], low), high);
  }
  return cells;
}

const WHOLE = [Int8Array, Int16Array, Int32Array, BigInt64Array];

export function pack({ digest, question, mechanism }, row, cells) {
  const bits = mechanism.packing === "bits";
  const top = cells.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const kind = WHOLE.findIndex((kind) => top < 2 ** (8 * kind.BYTES_PER_ELEMENT - 1));
  const size = WHOLE[kind].BYTES_PER_ELEMENT;
  const index = mechanism.packing === "index";
  const out = new Uint8Array(42 + (index ? 4 : bits ? Math.ceil(cells.length / 8) : cells.length * size));
  const view = new DataView(out.buffer);
  out.set([0x63, 0x66, 0x72, 0x32, ...digest, ...question.digest, 0, index ? 0 : bits ? 1 : kind + 2]);
  view.setUint32(38, row, true);
  if (index) view.setUint32(42, cells.indexOf(1), true);
  else if (bits) cells.forEach((bit, at) => (out[42 + (at >> 3)] |= bit << (at & 7)));
  else {
    const put = ["setInt8", "setInt16", "setInt32", "setBigInt64"][kind];
    cells.forEach((one, at) => view[put](42 + at * size, kind === 3 ? BigInt(one) : one, true));
  }
  return out;
}
