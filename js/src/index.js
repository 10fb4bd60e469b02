/** confide-device: one person's device, in a page or in Node. */

export { Device } from "./device.js";
export { browserStorage, memoryStorage } from "./storage.js";
export { readContract } from "./contract.js";
export { respond } from "./report.js";
