/** Reads the bytes of a report again, for readers who want to see what leaves a page; a device needs none of this. */

import { require } from "../src/question.js";
import { wholeType } from "../src/report.js";

const SIZES = { 2: 1, 3: 2, 4: 4, 5: 8 };

/** (width,) the least and the largest number that an honest device sends in each cell. */
export function limits({ question, mechanism }) {
  const low = new Float64Array(question.width);
  const high = low.slice();
  for (const slice of question.kind === "counts" || question.answer ? question.slices : [{ start: 0, end: question.width }]) {
    const [least, most] = mechanism.limits(slice);
    low.fill(least, slice.start, slice.end);
    high.fill(most, slice.start, slice.end);
  }
  return { low, high };
}

/** {row, cells} of a report made by this design; refuses what no honest device sends. */
export function unpack(design, bytes) {
  const { question, mechanism } = design;
  const { width } = question;
  const same = (start, wanted) => wanted.every((byte, at) => bytes[start + at] === byte);
  const good = (holds, why) => require(holds, `These bytes are not a report that can be counted here: ${why}.`);
  good(bytes.length >= 42 && same(0, [0x63, 0x66, 0x72, 0x32]), "it does not begin like a report");
  good(same(4, design.digest) && same(20, question.digest), "it was made by another design, or answers another question");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const row = view.getUint32(38, true);
  const type = bytes[37];
  good(bytes[36] === (mechanism.level ?? 0) && row < question.rows, "its level or row is out of range");
  const cells = new Float64Array(width);
  const size = bytes.length - 42;
  if (mechanism.packing === "index") {
    const at = type === 0 && size === 4 ? view.getUint32(42, true) : width;
    good(at < width, "it does not name one category");
    cells[at] = 1;
  } else if (mechanism.packing === "bits") {
    good(type === 1 && size === Math.ceil(width / 8), "it has more or fewer bits than its question asks for");
    good(width % 8 === 0 || bytes[bytes.length - 1] >> (width % 8) === 0, "it has bits beyond its last one");
    for (let at = 0; at < width; at++) cells[at] = (bytes[42 + (at >> 3)] >> (at & 7)) & 1;
  } else {
    good(type === wholeType(design) + 2 && size === width * SIZES[type], "it has another length than every report of this design");
    const get = { 2: "getInt8", 3: "getInt16", 4: "getInt32", 5: "getBigInt64" }[type];
    for (let at = 0; at < width; at++) cells[at] = Number(view[get](42 + at * SIZES[type], true));
  }
  const returned = row === question.pairs; // one bit of two
  const named = cells.reduce((sum, one) => sum + one, 0);
  const names = returned ? 1 : mechanism.names;
  good((!names || named === names) && !(returned && !cells[0] && !cells[1]), "it names more or fewer categories than an honest device");
  const { low, high } = limits(design);
  good(cells.every((one, at) => one >= low[at] && one <= high[at]), "it has a number that no honest device sends");
  return { row, cells };
}
