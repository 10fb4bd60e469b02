/** Every case by name: functions that throw where something is wrong. */

import * as device from "./device.cases.js";
import * as features from "./features.cases.js";
import * as golden from "./golden.cases.js";
import * as laws from "./laws.cases.js";
import * as reading from "./reading.cases.js";
import * as returning from "./returning.cases.js";
import * as sealed from "./sealed.cases.js";
import * as storage from "./storage.cases.js";
import * as tickets from "./tickets.cases.js";
import * as tokens from "./tokens.cases.js";

export const all = (vectors) => Object.assign({}, ...[golden, features, device, tickets, tokens, returning, sealed, storage, laws, reading].map(({ cases }) => cases(vectors)));
