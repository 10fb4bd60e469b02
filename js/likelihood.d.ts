import type { Contract, Design, Lived } from "./index.js";

/**
 * What a report about a sampled step says of lives, in natural logarithms of chances: of one life, and the most and the least
 * that any life has. Null for reports of another kind.
 */
export function likelihood(
  contract: Contract,
  report: { row: number; cells: Float64Array },
): { of(lived: Lived): number; most: number; least: number } | null;
/** The step that a category stands for; null for one that was not taken. */
export function fact(design: Design, at: number): { state: number; action: number; next: number | null; rewarded: boolean } | null;
