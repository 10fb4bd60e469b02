/** Every case by name: functions that throw where something is wrong. */

import * as device from "./device.cases.js";
import * as golden from "./golden.cases.js";
import * as laws from "./laws.cases.js";
import * as reading from "./reading.cases.js";

export const all = (vectors) => ({ ...golden.cases(vectors), ...device.cases(vectors), ...laws.cases(), ...reading.cases(vectors) });
