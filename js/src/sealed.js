/** Sealed uploads: HPKE in base mode (RFC 9180), DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM; and handing them over when a page closes. */

import { fromBase64, toBase64 } from "./contract.js";
import { require } from "./question.js";

const KEM = [75, 69, 77, 0, 32];
const SUITE = [72, 80, 75, 69, 0, 32, 0, 1, 0, 1];
const VERSION = "HPKE-v1";
const HANDED = "confide-handed ";
const CONTEXT = "confide.sealed/1\n";
const TICKET_BYTES = 64;
const bytes = (part) => (typeof part === "string" ? new TextEncoder().encode(part) : part);
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...bytes(part)]));

async function mac(key, ...parts) {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", made, joined(...parts)));
}

const extract = (salt, suite, label, material) => mac(salt, VERSION, suite, label, material);
const expand = async (key, suite, label, info, size) => (await mac(key, [0, size], VERSION, suite, label, info, [1])).slice(0, size);

/** What only the holder of the other half of a key can read: the ephemeral public key, then the ciphertext. pair, more: of test vectors; pair is drawn, more is empty. */
export async function encrypt(key, info, message, pair, more = []) {
  const { publicKey, privateKey } = pair ?? (await crypto.subtle.generateKey("X25519", false, ["deriveBits"]));
  const [mine, theirs] = await Promise.all([publicKey, key].map(async (one) => new Uint8Array(await crypto.subtle.exportKey("raw", one))));
  const secret = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: key }, privateKey, 256));
  const none = new Uint8Array(32);
  const shared = await expand(await extract(none, KEM, "eae_prk", secret), KEM, "shared_secret", joined(mine, theirs), 32);
  const context = joined([0], await extract(none, SUITE, "psk_id_hash", []), await extract(none, SUITE, "info_hash", info));
  const root = await extract(shared, SUITE, "secret", []);
  const cipher = await crypto.subtle.importKey("raw", await expand(root, SUITE, "key", context, 16), "AES-GCM", false, ["encrypt"]);
  const options = { name: "AES-GCM", iv: await expand(root, SUITE, "base_nonce", context, 12), additionalData: joined(more) };
  return joined(mine, new Uint8Array(await crypto.subtle.encrypt(options, cipher, message)));
}

export async function sealingKey(raw) {
  const key = await crypto.subtle.importKey("raw", raw, "X25519", true, []).catch(() => null);
  require(key, "The key that uploads are sealed to is none of X25519, or this browser knows none. Update one of them.");
  return key;
}

/** An upload, sealed: its ticket, "cfs1", when it is to be opened (8, ms since 1970), version (4), and the message. */
export async function sealedParcel(key, parcel, opens, version, pair) {
  const head = new Uint8Array(TICKET_BYTES + 16);
  head.set(parcel.subarray(0, TICKET_BYTES));
  head.set(bytes("cfs1"), TICKET_BYTES);
  const view = new DataView(head.buffer, TICKET_BYTES);
  view.setBigUint64(4, BigInt(Math.round(opens)), true);
  view.setUint32(12, version, true);
  return joined(head, await encrypt(key, joined(CONTEXT, head), parcel.subarray(TICKET_BYTES), pair));
}

/**
 * {`parcel`, leaver, handed, unsealed} of a contract whose uploads are sealed. A page that shows its users what leaves sets `onseal` of
 * its contract, which is called with each upload before and after it was sealed.
 */
export async function readSealing({ trust, parcel: plain, intermediary: { sealing } }) {
  const key = await sealingKey(fromBase64(sealing));
  const parcel = async (contract, opened, lived, version) => {
    const inside = plain(contract, opened, lived);
    const body = await sealedParcel(key, inside, opened.due, version);
    contract.onseal?.(inside, body);
    return body;
  };
  const unsealed = ({ intermediary }) => intermediary?.sealing !== sealing;
  return { parcel, handed, unsealed, leaver: (...told) => leaver(trust === "joint", ...told) };
}

/** What a page that is gone handed over of an episode. */
function handed(id, local) {
  const body = local?.getItem(HANDED + id);
  return body ? fromBase64(body) : undefined;
}

/**
 * Keeps the sealed upload about an episode ready, in memory, and hands it over when the page closes: nothing can be sealed then. Of
 * joint privacy it may be handed over each time that the page is hidden, since it is replaced by what comes later. A report is handed
 * over once, and then its episode is over: what was drawn before and did not leave is forgotten.
 */
function leaver(replaced, id, local, make, between) {
  let [ready, handed, source, stale, working, over, version] = [null, null, null, false, null, false, 0];
  const work = async () => {
    while (stale && !over) {
      stale = false;
      const made = await make(source(), ++version);
      if (!over) ready = made;
    }
  };
  /** lived: says what happened so far, given once. */
  const changed = (lived = source) => {
    source = lived;
    stale = true;
    working ??= work().catch(() => null).finally(() => (working = null));
  };
  const leave = () => {
    if (handed === ready) return;
    over = !replaced;
    handed = ready;
    local?.setItem(HANDED + id, toBase64(ready));
    between.hand(ready).catch(() => null);
  };
  globalThis.addEventListener?.("pagehide", leave);
  globalThis.document?.addEventListener("visibilitychange", () => replaced && document.visibilityState === "hidden" && leave());
  return {
    changed,
    leave,
    /** The upload about all that happened; or the one that was handed over, if that was the last. */
    async last(lived) {
      if (!over) changed(() => lived);
      while (working && !over) await working;
      return ready;
    },
  };
}
