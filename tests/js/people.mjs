/** Reads a contract and people's episodes, {contract, episodes}, from standard input; writes their reports, one in hex a line. */

import { readFileSync } from "node:fs";

import { hex, readContract } from "../../js/src/contract.js";
import { respond } from "../../js/src/report.js";

const { contract, episodes } = JSON.parse(readFileSync(0, "utf-8"));
const { design } = await readContract(new TextEncoder().encode(contract));
const told = episodes.map(([states, actions, rewards]) => hex(respond(design, { states, actions, rewards })));
process.stdout.write(told.join("\n"));
