import type { Contract, Design, Lived } from "./index.js";

/**
 * What a report about flipped bits, a sampled step or an asked pair says of lives, in natural logarithms of chances: of one life, and
 * the most and the least that any life has, null where that is not known. Null for reports of another kind.
 */
export function likelihood(
  contract: Contract,
  report: { row: number; cells: Float64Array },
): { of(lived: Lived): number; most: number | null; least: number | null } | null;
/** The logarithm of the chance that `sent` of this many bits are one, of which `set` were, after each was flipped with a chance. */
export function flipped(bits: number, set: number, sent: number, flip: number): number;
/** The state and the action that a report about an asked pair is about: its row says which. */
export function pair(design: Design, row: number): { state: number; action: number };
/** The step that a category of a report stands for; null for one that was not taken, or a pair that was not visited. */
export function fact(design: Design, at: number, row?: number): { state: number; action: number; next: number | null; rewarded: boolean } | null;
