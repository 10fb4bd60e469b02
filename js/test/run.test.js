/** All cases, in Node. The same ones run in a browser: browser.html. */

import { readFileSync } from "node:fs";
import test from "node:test";

import { all } from "./all.js";

const golden = JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf-8"));
for (const [name, work] of Object.entries(all(golden))) test(name, work);
