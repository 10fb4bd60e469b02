/**
 * The reports that a page would draw, many at once: reads {contract, episodes, times} from standard input, and writes the report of every
 * episode this many times, each after its length in four bytes. They are drawn by src/, with the randomness that a page has.
 */

import { readFileSync } from "node:fs";

import { readContract } from "../src/contract.js";
import { respond } from "../src/report.js";

const { contract, episodes, times } = JSON.parse(readFileSync(0, "utf-8"));
const { design } = await readContract(new TextEncoder().encode(contract));
const written = [];
for (const [states, actions, rewards] of episodes) {
  for (let one = 0; one < times; one++) {
    const report = respond(design, { states, actions, rewards });
    written.push(new Uint8Array(Uint32Array.of(report.length).buffer), report);
  }
}
process.stdout.write(Buffer.concat(written));
