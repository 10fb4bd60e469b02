import type { Design } from "./index.js";

/** (width,) the least and the largest number that an honest device sends in each cell. */
export function limits(design: Design): { low: Float64Array; high: Float64Array };
/** What the bytes of a report say; throws a sentence if no honest device sends them. */
export function unpack(design: Design, bytes: Uint8Array): { row: number; cells: Float64Array };
