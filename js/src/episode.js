/** One episode, in memory only; nothing of it but a report leaves. */

import { inside } from "./question.js";
import { below, chance } from "./random.js";

export class Episode {
  #with;
  #states = [];
  #actions = [];
  #rewards = [];
  #next = null;
  #over = false;
  #finished = null;
  due = null;

  constructor(parts) {
    this.#with = parts;
    parts.changed?.(() => this.#lived());
  }

  act(state) {
    const { contract, policy } = this.#with;
    if (!contract) return 0;
    const { spec, labels } = contract;
    const where = number(state, labels.states);
    const known = inside(where, spec.states);
    const step = this.#rewards.length;
    const action = known && policy ? drawn(policy(Math.min(step, spec.horizon - 1), where)) : below(spec.actions);
    if (!known) this.#end("state");
    else if (!this.#over && (step < spec.horizon || this.#states.length === step)) {
      // An action whose outcome was never observed gives way to the next.
      this.#states[step] = where;
      if (step < spec.horizon) this.#actions[step] = action;
    }
    return typeof state === "string" ? labels.actions[action] : action;
  }

  observe(reward, nextState = null, action = this.#actions.at(-1)) {
    const { contract, tell, changed } = this.#with;
    const step = this.#rewards.length;
    if (!contract || this.#over || step === this.#actions.length) return;
    const { states, actions } = contract.labels;
    const done = number(action, actions);
    if (!inside(done, actions.length)) return this.#end("action");
    this.#actions[step] = done;
    const earned = typeof reward === "number" && reward > 0 ? Math.min(reward, 1) : 0;
    if (earned !== reward) tell("input", "A reward outside [0, 1] was given; it was clipped.");
    this.#rewards.push(earned);
    this.#next = number(nextState, states);
    changed?.();
  }

  finish() {
    this.#over = true;
    this.#finished ??= this.#with.conclude(this.#lived());
    return this.#finished;
  }

  #end(what) {
    this.#over = true;
    this.#with.tell("input", `A ${what} was given that the contract does not know; the rest is not reported.`);
  }

  #lived() {
    const { contract } = this.#with;
    const rewards = this.#rewards.slice();
    const states = this.#states.slice(0, rewards.length + 1);
    if (states.length === rewards.length && inside(this.#next, contract?.spec.states)) states.push(this.#next);
    // A step whose next state is asked for and unknown is left out.
    if (states.length === rewards.length && contract?.question.last === "counted") rewards.pop();
    return { states, actions: this.#actions.slice(0, rewards.length), rewards };
  }
}

const number = (label, labels) => (typeof label === "string" ? labels.indexOf(label) : label);

function drawn(chances) {
  let left = 1;
  for (let action = 0; action < chances.length - 1; action++) {
    if (chance(chances[action] / left)) return action;
    left -= chances[action];
  }
  return chances.length - 1;
}
