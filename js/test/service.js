/** A collector in a few lines: it serves a contract, signed rounds and policies, and takes letters, or fails as it is told to. */

import { hex, sha256, toBase64 } from "../src/contract.js";
import { bytesOf } from "./checks.js";

export async function openService(contract, changes = {}) {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const key = toBase64(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
  const bytes = bytesOf(JSON.stringify({ ...contract, key, ...changes }));
  const hash = hex(await sha256(bytes));
  const { states, actions, horizon } = contract.spec;
  const found = {
    pin: `sha256:${hash}`,
    letters: [],
    asked: [],
    status: 201,
    contract: bytes,
    /** Publishes a policy of one action, or of chances, as the next round or as another one. */
    async publish(action, more = {}) {
      const form = Array.isArray(action) ? 0 : 1;
      const policy = new Uint8Array(17 + horizon * states * (form || 8 * actions));
      const view = new DataView(policy.buffer);
      policy.set(bytesOf("cfp1"));
      policy[4] = form;
      [horizon, states, actions].forEach((size, at) => view.setUint32(5 + 4 * at, size, true));
      if (form) policy.fill(action, 17);
      else for (let at = 17; at < policy.length; at += 8) view.setFloat64(at, action[((at - 17) / 8) % actions], true);
      const name = hex(await sha256(policy));
      const head = { schema: "confide.head/1", contract: hash, ended: false, people: 0, release: null, successor: null };
      Object.assign(head, { policy: name, previous: this.head ?? "0".repeat(64), round: this.round + 1, ...more });
      const data = bytesOf(JSON.stringify(head));
      const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, bytesOf("confide.head/1\n" + JSON.stringify(head)));
      this.served = JSON.stringify({ head: toBase64(data), signature: toBase64(new Uint8Array(signature)) });
      this.policies[name] = policy;
      this.head = hex(await sha256(data));
      this.round = head.round;
    },
    policies: {},
    round: -1,
    fetch: async (url, { method = "GET", body, headers, credentials } = {}) => {
      const path = new URL(url).pathname;
      found.asked.push(`${method} ${path}`);
      if (found.status === 0) throw new TypeError("nobody answers");
      if (credentials !== "omit") throw new Error("a device sends no cookies");
      if (path === "/v1/contract") return new Response(found.contract);
      if (path === "/v1/rounds/current") return new Response(found.served);
      if (path.startsWith("/v1/policies/")) return new Response(found.policies[path.slice(13)]);
      if (headers["content-type"] !== "application/vnd.confide.letter") return new Response("", { status: 415 });
      found.letters.push(hex(body));
      return new Response("", { status: found.status, headers: { "retry-after": "7" } });
    },
  };
  await found.publish(1);
  return found;
}
