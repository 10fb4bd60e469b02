/**
 * A collector in a few lines: it serves a contract, signed rounds and policies, and takes submissions, or fails as it is set to.
 * Where the contract has one, a shuffler or a curator besides, at an address of its own.
 */

import { fromHex, hex, sha256, toBase64 } from "../src/contract.js";
import { bytesOf } from "./checks.js";

const REASONS = { 409: "contract", 410: "ended", 413: "length", 422: "report", 429: "rate", 503: "busy" };

/** A refusal as the service writes it, or with something else in it. */
export function problem(contract, status, reason = REASONS[status], more = {}) {
  const named = reason === "contract" ? "f".repeat(64) : contract;
  const told = { type: `urn:confide:problem:${reason}`, title: "", status, detail: "", contract: named, ...more };
  return new Response(JSON.stringify(told), { status, headers: { "content-type": "application/problem+json", "retry-after": "7" } });
}

/** What a device stored, as if the page that began an episode had ended since. */
export function cutOff(storage, url, earlier = 0) {
  const memory = JSON.parse(storage.get("confide"));
  Object.assign(memory.services[url].open, { id: "0".repeat(32), due: memory.services[url].open.due - earlier });
  storage.set("confide", JSON.stringify(memory));
}

/** A steady clock that a test moves. */
export async function timed(work) {
  const steady = performance.now.bind(performance);
  const clock = { ahead: 0 };
  performance.now = () => steady() + clock.ahead;
  try {
    await work(clock);
  } finally {
    delete performance.now;
  }
}

/** keys: of another service, if they are to be the same. */
export async function openService(contract, changes = {}, keys = null) {
  const pair = keys ?? (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]));
  const key = toBase64(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
  const bytes = bytesOf(JSON.stringify({ ...contract, key, ...changes }));
  const hash = hex(await sha256(bytes));
  const { states, actions, horizon } = contract.spec;
  const found = {
    pin: `sha256:${hash}`,
    keys: pair,
    letters: [],
    asked: [],
    status: 201,
    /** How submissions and uploads are answered instead, if not by the service. */
    answer: null,
    contract: bytes,
    /** Of the shuffler or the curator: who took what, the tickets that are left, and the batches that are closed, by their epoch. */
    between: { address: "http://127.0.0.1:8001", epoch: 1, left: 100, issued: 0, tokens: [], parcels: [], closed: {}, status: 202, round: null },
    /** Of the issuer: what it was asked for, and how it answers. */
    issuer: { address: "http://127.0.0.1:8002", asked: [], sign: () => new Response("", { status: 404 }) },
    /** Publishes a policy of one action, or of chances, as the next round or as another one. */
    async publish(action, more = {}, law = null) {
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
      if (law) head.question = hex(await sha256(law));
      Object.assign(head, { policy: name, previous: this.head ?? "0".repeat(64), round: this.round + 1, ...more });
      const data = bytesOf(JSON.stringify(head));
      const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, bytesOf("confide.head/1\n" + JSON.stringify(head)));
      this.served = JSON.stringify({ head: toBase64(data), signature: toBase64(new Uint8Array(signature)) });
      this.policies[name] = policy;
      if (law) this.laws[head.question] = law;
      this.rounds[head.round] = this.served;
      this.head = hex(await sha256(data));
      this.round = head.round;
    },
    /** The signed statement that a period has begun. */
    async begun(number) {
      const told = JSON.stringify({ schema: "confide.period/1", contract: hash, number });
      const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, bytesOf("confide.period/1\n" + told));
      return bytesOf(JSON.stringify({ period: toBase64(bytesOf(told)), signature: toBase64(new Uint8Array(signature)) }));
    },
    policies: {},
    laws: {},
    rounds: {},
    round: -1,
    /** Publishes several policies of one action each, of which every user follows one. */
    async publishSeveral(...actions) {
      const parts = [];
      for (const action of actions) {
        await this.publish(action);
        const part = this.policies[JSON.parse(atob(JSON.parse(this.served).head)).policy];
        parts.push(new Uint8Array(new Uint32Array([part.length]).buffer), part);
      }
      const all = new Uint8Array([...bytesOf("cfm1"), actions.length, 0, 0, 0, ...parts.flatMap((part) => [...part])]);
      const name = hex(await sha256(all));
      this.policies[name] = all;
      await this.publish(actions[0], { policy: name });
      this.policies[name] = all;
    },
    fetch: async (url, { method = "GET", body, headers, credentials } = {}) => {
      const { origin, pathname: path } = new URL(url);
      found.asked.push(`${method} ${path}`);
      if (found.status === 0) throw new TypeError("nobody answers");
      if (credentials !== "omit") throw new Error("a device sends no cookies");
      if (origin === found.between.address) return found.beside(path, method, headers, body);
      if (path === "/v1/issuer") return Response.json({ address: found.issuer.address });
      if (origin === found.issuer.address) return found.issuer.sign(JSON.parse(new TextDecoder().decode(body)));
      if (path === "/v1/intermediary") return Response.json({ address: found.between.address });
      if (found.rounds[path.slice(11)] && path.startsWith("/v1/rounds/")) return new Response(found.rounds[path.slice(11)]);
      if (path === "/v1/contract") return new Response(found.contract);
      if (path === "/v1/rounds/current") return new Response(found.served);
      if (path.startsWith("/v1/policies/")) return new Response(found.policies[path.slice(13)]);
      if (path.startsWith("/v1/questions/")) return new Response(found.laws[path.slice(14)]);
      if (headers["content-type"] !== "application/vnd.confide.report") return new Response("", { status: 415 });
      found.letters.push(hex(body));
      if (found.answer) return found.answer();
      const outcome = { 200: "counted before", 201: "counted" }[found.status];
      return outcome ? Response.json({ outcome }, { status: found.status }) : problem(hash, found.status);
    },
  };
  found.beside = (path, method, headers, body) => {
    const { between } = found;
    if (between.status === 0) throw new TypeError("nobody answers");
    if (method === "GET" && path === "/v1/tickets") return Response.json({ batch: between.batch ?? 1 });
    if (method === "GET") {
      const batch = Number(path.slice("/v1/batches/".length));
      const closing = batch in between.closed ? batch : null;
      return Response.json({ batch, issued: between.issued, deadline: null, closing, epoch: between.closed[batch] ?? between.epoch });
    }
    if (headers["content-type"] !== `application/vnd.confide.${path === "/v1/tickets" ? "token" : "submission"}`) return new Response("", { status: 415 });
    if (path !== "/v1/tickets") {
      between.parcels.push([path, hex(body), between.epoch]);
      if (found.answer) return found.answer();
      return between.status === 202 ? Response.json({ epoch: between.epoch }, { status: 202 }) : problem(hash, between.status);
    }
    if (between.issued === between.left) return new Response("", { status: 410 });
    between.tokens.push(hex(body));
    const ticket = new Uint8Array(64);
    ticket.set(bytesOf("cft1"));
    ticket.set(between.hash ?? fromHex(hash), 4);
    [between.batch ?? 1, between.issued++, between.round ?? found.round].forEach((one, at) => new DataView(ticket.buffer).setUint32(36 + 4 * at, one, true));
    return Response.json({ ticket: toBase64(ticket), batch: 1, round: found.round, epoch: between.epoch }, { status: 201 });
  };
  await found.publish(1);
  return found;
}
