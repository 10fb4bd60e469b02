/** Where the contract names an issuer: one token a person, blind RSA as RFC 9474 has it (RSABSSA-SHA384-PSS-Deterministic), bound to the contract as in RFC 9577. */

import { fromBase64, fromHex, hex, sha256, toBase64 } from "./contract.js";
import { require } from "./question.js";
import { reading } from "./wire.js";

const [TYPE, NONCE, SALT, HASH, EXPONENT] = [[0, 2], 32, 48, 48, 65537n];
const REQUEST = "application/vnd.confide.token-request";
const NEARBY = ["localhost", "127.0.0.1", "[::1]"];
const RSA = { name: "RSA-PSS", hash: "SHA-384", saltLength: SALT };
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const random = (size) => crypto.getRandomValues(new Uint8Array(size));
const number = (bytes) => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
const written = (value, size) => Uint8Array.from({ length: size }, (_, at) => Number((value >> BigInt(8 * (size - 1 - at))) & 255n));
const sha384 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-384", join(...parts)));

function power(base, exponent, modulus) {
  let result = 1n;
  for (; exponent; exponent >>= 1n, base = (base * base) % modulus) if (exponent & 1n) result = (result * base) % modulus;
  return result;
}

/** The number whose product with a value is 1; 0 if there is none. */
function inverse(value, modulus) {
  let [low, high, before, now] = [modulus, value % modulus, 0n, 1n];
  while (high) [low, high, before, now] = [high, low % high, now, before - (low / high) * now];
  return low === 1n ? (before + modulus) % modulus : 0n;
}

/** {key, modulus, size} of an RSA key in DER. */
export async function readKey(der) {
  const key = await crypto.subtle.importKey("spki", der, RSA, true, ["verify"]).catch(() => null);
  const told = key && (await crypto.subtle.exportKey("jwk", key));
  require(told?.e === "AQAB", "The issuer's key is none of 2048 bits in DER with exponent 65537. Update the contract.");
  const bytes = fromBase64(told.n.replace(/-/g, "+").replace(/_/g, "/"));
  return { key, modulus: number(bytes), size: bytes.length };
}

/** EMSA-PSS, for a key whose modulus fills its bytes. */
async function encoded(message, salt, size) {
  const digest = await sha384(new Uint8Array(8), await sha384(message), salt);
  const block = new Uint8Array(size - HASH - 1);
  block.set([1, ...salt], block.length - salt.length - 1);
  for (let at = 0; at < block.length; at += HASH) {
    const mask = await sha384(digest, written(BigInt(at / HASH), 4));
    for (let one = at; one < Math.min(at + HASH, block.length); one++) block[one] ^= mask[one - at];
  }
  block[0] &= 127;
  return number(join(block, digest, [188]));
}

/** {blinded, inverted}: what the issuer sees, and what takes the blinding away. */
export async function blind({ modulus, size }, message, salt, inverted) {
  const factor = inverse(inverted, modulus);
  require(factor, "The blinding cannot be taken away again. Try once more.");
  return written(((await encoded(message, salt, size)) * power(factor, EXPONENT, modulus)) % modulus, size);
}

export async function finalize({ key, modulus, size }, message, answer, inverted) {
  const signature = written((number(answer) * inverted) % modulus, size);
  require(
    answer.length === size && (await crypto.subtle.verify(RSA, key, signature, message)),
    "The issuer's response is not a signature by the key that the contract names. Nothing is sent.",
  );
  return signature;
}

/** Uniform among the units: what is not below the modulus is drawn anew. */
function drawn({ modulus, size }) {
  for (;;) {
    const value = number(random(size));
    if (value < modulus && inverse(value, modulus)) return value;
  }
}

/** The key of a slot, where people come again and batches have slots; else the only one. */
const keyOf = ({ issuer }, slot) => fromBase64(issuer.later && slot ? issuer.later[slot - 1] : issuer.key);

/** The bytes that an issuer signs for a contract; the period is the slot, where batches have slots. */
export async function signed(contract, nonce, slot = 0) {
  const { issuer, hash } = contract;
  const period = issuer.later ? slot : 0;
  const name = new TextEncoder().encode(issuer.name);
  const context = await sha256(join(new TextEncoder().encode("confide.token/1\n"), hash, [0, 0, period >> 8, period & 255]));
  const challenge = join(TYPE, [name.length >> 8, name.length & 255], name, [context.length], context, [0, 0]);
  return join(TYPE, nonce, await sha256(challenge), await sha256(keyOf(contract, slot)));
}

/** Whether a contract admits people with less care than the one before, which named an issuer. */
export const less = ({ issuer: now, operator }, { issuer: before }) =>
  now?.key !== before.key || (now.later ?? []).some((one, at) => one !== before.later?.[at]) || (now.name === operator && before.name !== operator);

/**
 * This person's token, in hexadecimal: the one that is kept, or that the issuer gives. What asks for it is kept first, so that after a lost answer the same
 * bytes are sent again. Once it is used nothing of it is kept but what was sent.
 */
export async function admit(contract, change, collector, at, { credential, issuer: given }, signal, slot = 0) {
  const { issuer, pin } = contract;
  const key = await readKey(keyOf(contract, slot));
  require(key.size === 256 && issuer.name, "The contract does not say who its issuer is. Update it.");
  const drawing = { pin, slot, nonce: hex(random(NONCE)), salt: hex(random(SALT)), inverted: drawn(key).toString(16) };
  const kept = await change((memory) => (memory.admission = memory.admission?.pin === pin && (memory.admission.slot ?? 0) === slot ? memory.admission : drawing));
  if (kept.token) return kept.token;
  require(credential, "The service takes one token a person, and no credential was given. Join with one.");
  const message = await signed(contract, fromHex(kept.nonce), slot);
  const inverted = BigInt(`0x${kept.inverted}`);
  const blinded = toBase64(await blind(key, message, fromHex(kept.salt), inverted));
  const where = new URL(issuer.address ?? given ?? reading(await collector.get("/v1/issuer", signal)).address);
  require(
    NEARBY.includes(where.hostname) || ((issuer.address ?? given) && where.protocol === "https:"),
    "Neither the contract nor this page says where the issuer is, or not by https. Nothing is requested.",
  );
  const asked = JSON.stringify({ contract: hex(contract.hash), credential: typeof credential === "function" ? await credential() : credential, blinded, ...(contract.again && { slot }) });
  const { status, told } = await at(where.href).post("/v1/tokens", REQUEST, new TextEncoder().encode(asked), signal);
  require(status !== 403 && status !== 409, `The issuer refuses: ${String(told.detail).slice(0, 200)}`);
  if (status !== 201) throw new Error(`no token: ${status}`);
  const token = kept.nonce + hex(await finalize(key, message, fromBase64(told.answer), inverted));
  await change((memory) => memory.admission?.nonce === kept.nonce && (memory.admission = { pin, slot, token }));
  return token;
}
