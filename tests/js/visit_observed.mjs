/** Simulated people of a service about described features: node visit_observed.mjs URL PIN PEOPLE. Prints, as JSON, what they lived. */

import { Device, memoryStorage } from "../../js/src/index.js";

const [url, pin, people] = process.argv.slice(2);
const result = { counted: 0, input: [], lives: [] };
const pause = (time) => new Promise((done) => setTimeout(done, time));

async function visit() {
  let last = "";
  const onevent = ({ type, message }) => {
    last = type;
    if (type === "input") result.input.push(message);
  };
  const device = await Device.join(url, { pin, storage: memoryStorage(), onevent });
  const episode = await device.begin();
  const { features } = device.contract.design.question;
  const anything = () => ({ age: 18 + 72 * Math.random(), hour: 24 * Math.random(), plan: ["free", "pro", "team"][Math.floor(3 * Math.random())] });
  const life = { states: [], actions: [], rewards: [] };
  let observed = anything();
  life.states.push(features.encode(observed));
  for (let step = 0; step < device.contract.spec.horizon; step++) {
    const action = episode.act(observed);
    observed = anything();
    const reward = action === "tea" ? 1 : 0;
    episode.observe(reward, observed);
    life.actions.push(features.actions.indexOf(action));
    life.rewards.push(reward);
    life.states.push(features.encode(observed));
  }
  if (!(await episode.finish())) return;
  result.lives.push(life);
  for (let tries = 0; tries < 1500 && last !== "counted" && last !== "dropped"; tries++) {
    await device.flush();
    await pause(40);
  }
  result.counted += last === "counted";
}

await Promise.all(Array.from({ length: Number(people) }, visit));
process.stdout.write(JSON.stringify(result));
