/** One case by its name, in Node: node test/one.mjs "what it says". */

import { readFileSync } from "node:fs";

import { all } from "./all.js";

const cases = all(JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf-8")));
await cases[process.argv[2]]();
console.log("passed");
process.exit(0);
