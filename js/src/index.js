export { Device } from "./device.js";
export { browserStorage, memoryStorage } from "./storage.js";
export { readContract } from "./contract.js";
export { respond } from "./report.js";
