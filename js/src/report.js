/** The bytes of a report: README.md says how they are laid out. */

import { answer } from "./question.js";

/** law: of the pairs that are asked about, where a round carries one. */
export function respond(design, episode, law = design.question.law) {
  const { units, randomise } = design.mechanism;
  const { row, cells } = (design.question.answer ?? answer)({ ...design.question, law }, episode);
  return pack(design, row, clamp(design, randomise(units > 1 ? cells.map((one) => one * units) : cells, row)));
}

export function clamp({ question, mechanism }, cells) {
  for (const slice of question.kind === "counts" || question.answer ? question.slices : []) {
    const [low, high] = mechanism.limits(slice);
    for (let at = slice.start; at < slice.end; at++) cells[at] = Math.min(Math.max(cells[at], low), high);
  }
  return cells;
}

/** 0 to 3: whole numbers of 1, 2, 4 or 8 bytes, by what an honest device may send and never by what it does: one length for all. */
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
