/** Tokens: the RFC's vectors, and what Python's issuer signs. */

import { fromBase64, fromHex, hex, readContract, toBase64, weaker } from "../src/contract.js";
import { Device, memoryStorage } from "../src/index.js";
import { blind, finalize, readKey, signed } from "../src/tokens.js";
import { bytesOf, ok, refused, same } from "./checks.js";
import { openService, problem } from "./service.js";

const integer = (text) => BigInt(`0x${text}`);

async function keyOf(modulus) {
  const n = btoa(String.fromCharCode(...fromHex(modulus.toString(16)))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
  const key = await crypto.subtle.importKey("jwk", { kty: "RSA", n, e: "AQAB", alg: "PS384" }, { name: "RSA-PSS", hash: "SHA-384" }, true, ["verify"]);
  return readKey(new Uint8Array(await crypto.subtle.exportKey("spki", key)));
}

function power(base, exponent, modulus) {
  let result = 1n;
  for (; exponent; exponent >>= 1n, base = (base * base) % modulus) if (exponent & 1n) result = (result * base) % modulus;
  return result;
}

export function cases({ rfc9474: rfc, tokens }) {
  /** A service whose issuer signs once for each credential, and the same bytes again. */
  async function opened({ contract, n, d }) {
    const service = await openService(JSON.parse(contract));
    const granted = {};
    service.issuer.sign = ({ contract: named, credential, blinded }) => {
      service.issuer.asked.push(blinded);
      same(`sha256:${named}`, service.pin, "the contract");
      if ((granted[credential] ??= blinded) !== blinded) return problem(named, 403, "issued");
      const answer = power(integer(hex(fromBase64(blinded))), integer(d), integer(n)).toString(16).padStart(512, "0");
      return Response.json({ answer: toBase64(fromHex(answer)) }, { status: 201 });
    };
    return service;
  }
  const visit = async (service, options) => {
    const events = [];
    const settings = { pin: service.pin, storage: memoryStorage(), fetch: service.fetch, onevent: (event) => events.push(event) };
    const device = await Device.join("https://tea.example", { ...settings, ...options });
    const episode = await device.begin();
    episode.act(0);
    episode.observe(1, 1);
    return { body: await episode.finish(), events, device };
  };

  return {
    "a token is what Python makes it": async () => {
      for (const one of tokens) {
        const contract = await readContract(bytesOf(one.contract));
        const key = await readKey(fromBase64(contract.issuer.key));
        const message = await signed(contract, fromHex(one.nonce));
        same(hex(message), one.signed, "what is signed");
        same(hex(await blind(key, message, fromHex(one.salt), integer(one.inverted))), one.blinded, "what the issuer sees");
        const answer = power(integer(one.blinded), integer(one.d), integer(one.n)).toString(16).padStart(512, "0");
        same(one.nonce + hex(await finalize(key, message, fromHex(answer), integer(one.inverted))), one.token, "the token");
      }
    },
    "a letter carries a token and its id, a ticket is asked for with one, and no person has two": async () => {
      const [local, shuffle] = [await opened(tokens[0]), await opened(tokens[1])];
      const { body } = await visit(local, { credential: "ann" });
      const contract = await readContract(local.contract);
      const [letter, token] = [hex(body).slice(0, -576), hex(body).slice(-576)];
      same([local.letters, letter.slice(8, 40)], [[hex(body)], token.slice(0, 32)], "the letter");
      const key = await readKey(fromBase64(contract.issuer.key));
      const message = await signed(contract, fromHex(token.slice(0, 64)));
      ok(await crypto.subtle.verify({ name: "RSA-PSS", saltLength: 48 }, key.key, fromHex(token.slice(64)), message), "the token");
      ok(!local.issuer.asked.some((asked) => hex(fromBase64(asked)).includes(token.slice(0, 16))), "the issuer has not seen it");
      same((await visit(local, { credential: async () => "ann" })).events.map(({ type }) => type), ["refused"], "again, elsewhere");
      same((await visit(local, {})).events.map(({ type }) => type), ["refused"], "without a credential");
      same(local.letters.length, 1, "letters");
      const taken = await visit(shuffle, { credential: () => "ben" });
      same([shuffle.between.issued, shuffle.between.tokens[0].length], [1, 576], "a ticket");
      ok(!hex(taken.body).includes(shuffle.between.tokens[0].slice(0, 64)), "what is handed over has no token");
    },
    "an answer that was lost is asked for again with the same bytes": async () => {
      const service = await opened(tokens[0]);
      const [storage, sign] = [memoryStorage(), service.issuer.sign];
      service.issuer.sign = (told) => (sign(told), new Response("", { status: 502 }));
      same((await visit(service, { storage, credential: "ann" })).body, null, "nothing is sent");
      service.issuer.sign = sign;
      ok((await visit(service, { storage, credential: "ann" })).body, "then it is");
      same(new Set(service.issuer.asked).size, 1, "the same bytes");
      ok(!JSON.parse(storage.get("confide")).services["https://tea.example"].admission, "nothing of it is kept");
    },
    "a contract without its issuer, or with another, is weaker": async () => {
      const read = (changes) => readContract(bytesOf(JSON.stringify({ ...JSON.parse(tokens[0].contract), ...changes })));
      const made = await read({});
      const { issuer, operator } = made;
      for (const now of [null, { ...issuer, key: toBase64(new Uint8Array(294)) }, { ...issuer, name: operator }]) ok(weaker(await read({ issuer: now }), made), JSON.stringify(now));
      ok(!weaker(made, made) && !weaker(made, await read({ issuer: null })), "nothing is missing");
    },
    "blind signatures are those of the RFC's vectors": async () => {
      const key = await keyOf(integer(rfc.p) * integer(rfc.q));
      for (const { msg, salt, inv, blinded_msg, blind_sig, sig } of rfc.vectors) {
        same(hex(await blind(key, fromHex(msg), fromHex(salt), integer(inv))), blinded_msg, "blinded");
        const end = () => finalize(key, fromHex(msg), fromHex(blind_sig), integer(inv));
        if (salt) same(hex(await end()), sig, "signature");
        else await refused(end, "a signature without a salt");
        await refused(() => finalize(key, fromHex(msg), fromHex(blinded_msg), integer(inv)), "what was never signed");
      }
    },
  };
}
