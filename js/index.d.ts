/** One sentence about something that happened; it never quotes an episode. */
export interface DeviceEvent {
  /**
   * `counted`: the report was. `taken`: it is in an open batch, and kept until that is closed. `offline`: the service or the storage could not be used; the device goes on, and
   * tries again, and reports nothing as long as a storage cannot be read.
   * `refused`: a contract, a round or a policy was not accepted. `dropped`: the service will never count the report.
   * `spent`: this person has reported before, as often as the contract allows or too short a while ago. `full`: there was no ticket left. `input`: a state or a reward was none.
   */
  type: "counted" | "taken" | "offline" | "refused" | "dropped" | "spent" | "full" | "input";
  message: string;
}

/** Text by key. Give one that lasts: what is forgotten could be spent again. */
export interface DeviceStorage {
  get(key: string): string | null | Promise<string | null>;
  set(key: string, text: string): unknown;
  /** What keeps at once what a page hands over when it closes; without it the next visit knows nothing of that. */
  local?: { getItem(key: string): string | null; setItem(key: string, text: string): unknown };
}

export interface JoinOptions {
  /** "sha256:..." of the contract's bytes. Without it the first contract that the service shows is joined, and kept. */
  pin?: string;
  /** Where to remember; IndexedDB and localStorage if it is left out, and in Node it is needed. */
  storage?: DeviceStorage | null;
  /** Another address of the same rounds, run by another operator: a round that it knows otherwise is not followed. */
  witness?: string | URL;
  /** Milliseconds within which all requests of a call end together; 10,000 if it is left out. */
  timeout?: number;
  /** What this person shows the issuer of tokens, where the contract names one; or a function that says it when it is needed. */
  credential?: string | (() => string | Promise<string>);
  /** The issuer's address, where the contract does not say. */
  issuer?: string;
  /** In place of the global one. */
  fetch?: typeof fetch;
  onevent?: (event: DeviceEvent) => void;
}

export interface Guarantee {
  epsilon: number | null;
  delta: number;
  rho: number | null;
  /** The share of users who are assumed to follow the protocol: under trust shuffle only. */
  honest?: number;
}

/** How reports are made: fingerprints, what is asked, and the noise; none where a curator adds it. */
export interface Design {
  readonly digest: Uint8Array;
  readonly question: Readonly<Record<string, any>>;
  readonly mechanism: Readonly<Record<string, any>> | null;
}

export interface Contract {
  readonly name: string;
  readonly version: number;
  readonly operator: string;
  readonly spec: { states: number; actions: number; horizon: number; model: "stationary" | "per-step" };
  readonly labels: { states: string[]; actions: string[] };
  readonly guarantee: Guarantee;
  readonly trust: "local" | "shuffle" | "joint";
  readonly window: { seconds: number };
  readonly pin: string;
  readonly hash: Uint8Array;
  readonly key: Uint8Array;
  readonly design: Design;
  readonly [field: string]: any;
}

/** states: (T+1,), or (T,) if the state after the last step is unknown, or as many rows of what was observed, in numbers; actions: (T,); rewards: (T,) in [0, 1]. */
export interface Lived {
  states: number[] | number[][];
  actions: number[];
  rewards: number[];
}

/** One episode, in memory only. */
export interface Episode {
  /** When its report leaves (milliseconds since 1970), with what happened until then; null if when it is finished, or never. */
  readonly due: number | null;
  /**
   * What to do in a state: by the policy of the day, or at random where there is none yet. A label gives a label.
   * An action whose outcome is never observed is left out of the report.
   */
  act(state: number): number;
  act(state: string): string;
  /**
   * The reward of the action, in [0, 1], and the state that it led to, where that is known.
   * action: what was done, where that was not what `act` said.
   */
  observe(reward: number, nextState?: number | string | null, action?: number | string): void;
  /** Ends it: the report is drawn, once, kept until it is acknowledged, and sent when it is due. Its bytes, or null. */
  finish(): Promise<Uint8Array | null>;
}

/** What is observed of a user, by the names that the contract describes: numbers, and values of categories. */
export type Observed = Readonly<Record<string, number | string>>;

/** One episode under a contract that describes features, in memory only. Actions come and go by name. */
export interface ObservedEpisode extends Omit<Episode, "act" | "observe"> {
  /** What to do: by the policy of the day, or at random where there is none yet. */
  act(observed: Observed): string;
  /** The reward of the action, in [0, 1], and what is observed next, where steps follow. action: what was done, where that was not what `act` said. */
  observe(reward: number, next?: Observed | null, action?: string | null): void;
  /**
   * The best of the actions on offer (all, if left out), for contracts of one step with a window. Its reward may come later, by
   * `reward`: the report leaves at `due`, with the reward that came until then, or with 0.
   */
  choose(context: Observed, actions?: readonly string[]): string;
  reward(value: number): void;
}

/** One person's end of one service. No call of it ever throws or rejects. */
export class Device {
  private constructor();
  /** Joins a service, or comes back to it. It always gives a device; one that could not join says why, and sends nothing. */
  static join(url: string | URL, options?: JoinOptions): Promise<Device>;
  /** The contract that was joined and checked. */
  readonly contract: Contract | null;
  /** Why this device takes no part, in one sentence. */
  readonly refusal: string | null;
  /** The round whose policy is followed. */
  readonly round: number | null;
  /**
   * An episode by the policy of the day. If this person's report was not spent yet, this spends it: where the contract takes
   * tickets, together with one, and not without.
   */
  begin(): Promise<Episode & ObservedEpisode>;
  /** Sends the report that is kept, if it is due; whether nothing waits to be sent any more. */
  flush(): Promise<boolean>;
  /**
   * Hands over what happened so far, sealed, to be opened at its time; nothing where the contract has no key to seal to. A page does it by itself
   * when it closes. Under joint privacy the episode may go on; a report is drawn once, so that its episode is over.
   */
  leave(): void;
}

/**
 * IndexedDB, and in a page localStorage besides, which holds what was spent: both are written, and both are read. `whole` is false where
 * one of them cannot be read: a device then reports nothing. Null where there is no IndexedDB at all.
 */
export function browserStorage(): Promise<(DeviceStorage & { whole?: false }) | null>;
/** For tests and simulated people only. */
export function memoryStorage(): DeviceStorage;
/**
 * Reads a contract; throws a sentence if its noise does not keep its guarantee, or this version cannot keep it. What a shuffler or
 * a curator adds to the guarantee cannot be checked here: `design.mechanism.loss` is then what a shuffler could see, or there is none.
 */
export function readContract(bytes: Uint8Array): Promise<Contract>;
/**
 * One person's report about an episode, to a collector or a shuffler, drawn afresh at every call: send one of them only. law: weights
 * of the pairs that may be asked about, where a round carries them.
 */
export function respond(design: Design, lived: Lived, law?: number[] | null): Uint8Array;
