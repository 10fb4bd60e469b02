/** All cases, in Node. The same ones run in a browser: browser.html. */

import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { all } from "./all.js";
import { ok } from "./checks.js";

const golden = JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf-8"));
for (const [name, work] of Object.entries(all(golden))) test(name, work);

test("its source has less than 12 KB, gzipped in one piece", () => {
  const folder = new URL("../src/", import.meta.url);
  const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder)));
  const size = gzipSync(Buffer.concat(files), { level: 9 }).length;
  ok(size < 12 * 1024, `it has ${size} bytes`);
});
