/** Simulated people against a running service, all at once: node visit.mjs URL PIN PEOPLE. Prints, as JSON, what happened. */

import { Device, memoryStorage } from "../../js/src/index.js";

const [url, pin, people] = process.argv.slice(2);
const events = {};
const rounds = new Set();
const letters = [];
const lives = [];
const pause = (time) => new Promise((done) => setTimeout(done, time));

async function visit() {
  let last = "";
  const onevent = ({ type, message }) => {
    last = type;
    events[`${type}: ${message}`] = (events[`${type}: ${message}`] ?? 0) + 1;
  };
  const device = await Device.join(url, { pin, storage: memoryStorage(), onevent });
  const episode = await device.begin();
  const life = [[0], [], []];
  for (let step = 0; step < (device.contract?.spec.horizon ?? 0); step++) {
    const state = life[0].at(-1);
    const action = episode.act(state);
    const next = action === 1 ? Math.min(state + 1, device.contract.spec.states - 1) : 0; // a chain, paid at its end
    const reward = next === device.contract.spec.states - 1 ? 1 : 0;
    episode.observe(reward, next);
    [next, action, reward].forEach((one, at) => life[at].push(one));
  }
  const body = await episode.finish();
  rounds.add(device.round);
  if (!body) return;
  letters.push(Buffer.from(body).toString("hex"));
  lives.push(life);
  // Until it is sent, and where tickets are taken until its batch is closed.
  for (let tries = 0; tries < 1500 && last !== "counted" && last !== "dropped"; tries++) {
    await device.flush();
    await pause(40);
  }
}

await Promise.all(Array.from({ length: Number(people) }, visit));
process.stdout.write(JSON.stringify({ events, rounds: [...rounds], letters, lives }));
