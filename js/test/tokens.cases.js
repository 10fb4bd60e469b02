/** Tokens: the RFC's vectors, and what Python's issuer signs. */

import { fromHex, hex } from "../src/contract.js";
import { blind, finalize, readKey } from "../src/tokens.js";
import { refused, same } from "./checks.js";

const integer = (text) => BigInt(`0x${text}`);

async function keyOf(modulus) {
  const n = btoa(String.fromCharCode(...fromHex(modulus.toString(16)))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
  const key = await crypto.subtle.importKey("jwk", { kty: "RSA", n, e: "AQAB", alg: "PS384" }, { name: "RSA-PSS", hash: "SHA-384" }, true, ["verify"]);
  return readKey(new Uint8Array(await crypto.subtle.exportKey("spki", key)));
}

export function cases({ rfc9474: rfc }) {
  return {
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
