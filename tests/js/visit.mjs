/** Simulated people against a running service: node visit.mjs URL PIN PEOPLE. Prints, as JSON, what happened. */

import { Device, memoryStorage } from "../../js/src/index.js";

const [url, pin, people] = process.argv.slice(2);
const events = {};
const rounds = new Set();
const letters = [];
for (let person = 0; person < Number(people); person++) {
  const onevent = ({ type, message }) => (events[`${type}: ${message}`] = (events[`${type}: ${message}`] ?? 0) + 1);
  const device = await Device.join(url, { pin, storage: memoryStorage(), onevent });
  const episode = await device.begin();
  let state = 0;
  for (let step = 0; step < (device.contract?.spec.horizon ?? 0); step++) {
    const action = episode.act(state);
    const next = action === 1 ? Math.min(state + 1, device.contract.spec.states - 1) : 0; // a chain, paid at its end
    episode.observe(next === device.contract.spec.states - 1 ? 1 : 0, next);
    state = next;
  }
  const body = await episode.finish();
  if (body) letters.push(Buffer.from(body).toString("hex"));
  rounds.add(device.round);
}
process.stdout.write(JSON.stringify({ events, rounds: [...rounds], letters }));
