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

  constructor(parts) {
    this.#with = parts;
  }

  /** What to do in a state, by number or by label: by the policy, or at random where there is none yet. */
  act(state) {
    const { contract, policy, tell } = this.#with;
    if (!contract) return 0;
    const { spec, labels } = contract;
    const named = typeof state === "string";
    const where = named ? labels.states.indexOf(state) : state;
    const known = inside(where, spec.states);
    const step = this.#rewards.length;
    const action = known && policy ? drawn(policy(Math.min(step, spec.horizon - 1), where)) : below(spec.actions);
    if (!known) {
      this.#over = true;
      tell("input", "A state was given that the contract does not know; the rest is not reported.");
    } else if (!this.#over && (step < spec.horizon || this.#states.length === step)) {
      // An action whose outcome was never observed is left out: the next one takes its place.
      this.#states[step] = where;
      if (step < spec.horizon) this.#actions[step] = action;
    }
    return named ? labels.actions[action] : action;
  }

  /** What the action earned, in [0, 1], and the state that it led to, where that is known. */
  observe(reward, nextState = null) {
    const { contract, tell } = this.#with;
    const step = this.#rewards.length;
    if (!contract || this.#over || step === this.#actions.length) return;
    const earned = Math.min(Math.max(Number(reward) || 0, 0), 1);
    if (earned !== reward) tell("input", "A reward outside [0, 1] was given; it was clipped.");
    this.#rewards.push(earned);
    this.#next = typeof nextState === "string" ? contract.labels.states.indexOf(nextState) : nextState;
  }

  /** Ends the episode: its report is drawn, once, and sent when it is due. The bytes that were drawn, or null. */
  finish() {
    this.#over = true;
    this.#finished ??= this.#with.conclude(this.#lived());
    return this.#finished;
  }

  #lived() {
    const { contract } = this.#with;
    const rewards = this.#rewards.slice();
    const states = this.#states.slice(0, rewards.length + 1);
    if (states.length === rewards.length && inside(this.#next, contract?.spec.states)) states.push(this.#next);
    // Where the state after a step is asked for and unknown, the step is left out.
    if (states.length === rewards.length && contract?.question.last === "counted") rewards.pop();
    return { states, actions: this.#actions.slice(0, rewards.length), rewards };
  }
}

function drawn(chances) {
  let left = 1;
  for (let action = 0; action < chances.length - 1; action++) {
    if (chance(chances[action] / left)) return action;
    left -= chances[action];
  }
  return chances.length - 1;
}
