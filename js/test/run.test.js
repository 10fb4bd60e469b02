/** All cases, in Node. The same ones run in a browser: browser.html. */

import { readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { pieces } from "../build.mjs";
import { all } from "./all.js";
import { ok, same } from "./checks.js";
import { openService } from "./service.js";

const golden = JSON.parse(readFileSync(new URL("golden.json", import.meta.url), "utf-8"));
for (const [name, work] of Object.entries(all(golden))) test(name, work);

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf-8");
const LIMITS = { "confide-device.js": 13750, "confide-tickets.js": 3000, "confide-shares.js": 1500, "confide-tokens.js": 2500, "confide-features.js": 5500, "confide-returns.js": 900, "confide-sealed.js": 1800, "confide-returning.js": 1600 };

test("what a page loads has less than 13.75 KB gzipped, what it loads besides for tickets 3 KB, for shares of noise 1.5 KB, for tokens 2.5 KB, for features 5.5 KB, for returns .9 KB, for sealing 1.8 KB, for people who come again 1.6 KB, and all are made from the source", () => {
  for (const [name, text] of Object.entries(pieces())) {
    const written = readFileSync(new URL(`../dist/${name}`, import.meta.url), "utf-8");
    ok(written === text, `dist/${name} is not what the source says: npm run build`);
    const size = gzipSync(written, { level: 9 }).length;
    ok(size < LIMITS[name], `${name} has ${size} bytes`);
    const said = Number(readme.match(new RegExp(`dist/${name}[^(]*\\(([0-9,]+)`))[1].replace(",", ""));
    ok(Math.abs(size - said) < 100, `README.md says ${said} bytes of dist/${name}, which has ${size}`); // zlibs differ
  }
  same(Object.keys(pieces()), Object.keys(LIMITS), "the pieces");
});

test("the one piece sends letters that can be counted, and loads the other one for tickets only", async () => {
  const whole = await import("../dist/confide-device.js");
  const loaded = [];
  for (const contract of [golden.designs[0], ...golden.parcels].map((one) => JSON.parse(one.contract))) {
    const service = await openService(contract, { window: { seconds: 0.001 } });
    const told = await whole.readContract(service.contract);
    const device = await whole.Device.join("https://tea.example", { pin: service.pin, storage: whole.memoryStorage(), fetch: service.fetch });
    const episode = await device.begin();
    episode.act(0);
    episode.observe(1, 1);
    const body = await episode.finish();
    await new Promise((done) => setTimeout(done, 50));
    const parcels = service.between.parcels.map(([, bytes]) => bytes);
    same([...service.letters, ...parcels], [Buffer.from(body).toString("hex")], told.trust);
    loaded.push(Boolean(told.between));
  }
  same(loaded, [false, ...golden.parcels.map(() => true)], "tickets");
});
