/** Uploads that are sealed: HPKE as in its RFC, and what a page that closes leaves behind. */

import { fromHex, hex, readContract, weaker } from "../src/contract.js";
import { Device, memoryStorage } from "../src/index.js";
import { encrypt, sealedParcel, sealingKey } from "../src/sealed.js";
import { bytesOf, ok, refused, same } from "./checks.js";
import { cutOff, openService, timed } from "./service.js";

const URL_ = "https://tea.example";
const WINDOW = 50000;
const url64 = (text) => btoa(String.fromCharCode(...fromHex(text))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
const pause = (time) => new Promise((done) => setTimeout(done, time));
/** Until what is sealed aside is ready: a machine may be busy, so that this waits for rounds of the same work, and not for a time. */
async function settle() {
  const key = (await crypto.subtle.generateKey("X25519", false, ["deriveBits"])).publicKey;
  for (let one = 0; one < 5; one++) {
    await encrypt(key, [], new Uint8Array(400));
    await pause(10);
  }
}

async function pairOf(secret, open) {
  const jwk = { kty: "OKP", crv: "X25519", x: url64(open) };
  const privateKey = await crypto.subtle.importKey("jwk", { ...jwk, d: url64(secret) }, "X25519", false, ["deriveBits"]);
  return { privateKey, publicKey: await crypto.subtle.importKey("jwk", jwk, "X25519", true, []) };
}

export function cases(golden) {
  const joint = JSON.parse(golden.sealed.contract);
  const shuffle = JSON.parse(golden.sealed_reports);

  async function opened(contract) {
    const service = await openService(contract, { window: { seconds: WINDOW } , intermediary: { ...contract.intermediary, deadline: 2 * WINDOW } });
    const storage = memoryStorage();
    const events = [];
    const join = () => Device.join(URL_, { pin: service.pin, storage, fetch: service.fetch, onevent: ({ type }) => events.push(type) });
    return { service, storage, events, join, parcels: () => service.between.parcels.map(([, body]) => body) };
  }

  const step = (episode, state = 0) => {
    episode.act(state);
    episode.observe(1, 2);
  };
  const version = (body) => new DataView(fromHex(body).buffer).getUint32(64 + 12, true);

  return {
    "HPKE is that of RFC 9180: vector A.1.1": async () => {
      const { info, skEm, pkEm, pkRm, pt, aad, ct } = golden.sealed.rfc9180;
      const made = await encrypt(await sealingKey(fromHex(pkRm)), fromHex(info), fromHex(pt), await pairOf(skEm, pkEm), fromHex(aad));
      same(hex(made), pkEm + ct, "the ciphertext");
    },
    "sealed uploads have the same bytes as in Python": async () => {
      const key = await sealingKey(fromHex(golden.sealed.key));
      for (const { parcel, opens, version, private: secret, public: open, bytes } of golden.sealed.uploads) {
        same(hex(await sealedParcel(key, fromHex(parcel), opens, version, await pairOf(secret, open))), bytes, "an upload");
        const [one, two] = [await sealedParcel(key, fromHex(parcel), opens, version), await sealedParcel(key, fromHex(parcel), opens, version)];
        ok(hex(one) !== hex(two) && one.length === bytes.length / 2, "a key of its own for each, and one length");
      }
    },
    "a key that is none is refused, and a successor that seals to another key or to none is weaker": async () => {
      const changed = (sealing) => bytesOf(JSON.stringify({ ...joint, intermediary: { ...joint.intermediary, sealing } }));
      await refused(() => readContract(changed("c2hvcnQ=")), "a short key");
      const [plain, now, other] = await Promise.all([changed(undefined), changed(joint.intermediary.sealing), changed(btoa("k".repeat(32)))].map(readContract));
      same([weaker(plain, now), weaker(other, now), weaker(now, plain), weaker(now, now)].map(Boolean), [true, true, false, false], "weaker");
    },
    "a page that closes in the middle leaves one sealed upload, and the next visit sends the same bytes": async () => {
      for (const contract of [joint, shuffle]) {
        const { service, storage, join, parcels } = await opened(contract);
        const device = await join();
        const episode = await device.begin();
        step(episode);
        await settle();
        same(parcels().length, 0, "nothing leaves while the page is open");
        device.leave();
        await settle();
        same(parcels().length, 1, "one upload");
        const [body] = parcels();
        same(body.length / 2, fromHex(body).length, "bytes");
        const { id } = JSON.parse(storage.get("confide")).services[URL_].open;
        cutOff(storage, URL_); // the page is gone, with the lock on its episode
        storage.local.setItem(`confide-handed ${"0".repeat(32)}`, storage.local.getItem(`confide-handed ${id}`));
        await timed(async (clock) => {
          clock.ahead = 2 * 1000 * WINDOW;
          await (await join()).flush();
        });
        same(parcels(), [body, body], "the same bytes again, once its time has come");
        ok(service.between.parcels[0][0] === (contract === joint ? "/v1/episodes" : "/v1/reports"), "to whom");
      }
    },
    "a sealed episode goes on after its page was hidden, and is replaced by a higher version; a report is not": async () => {
      for (const contract of [joint, shuffle]) {
        const { join, parcels } = await opened(contract);
        const device = await join();
        const episode = await device.begin();
        step(episode);
        await settle();
        device.leave();
        step(episode, 2);
        await settle();
        device.leave();
        await settle();
        if (contract === joint) {
          same(parcels().length, 2, "two uploads");
          ok(version(parcels()[1]) > version(parcels()[0]), "a higher version");
          const body = await episode.finish();
          ok(version(hex(body)) > version(parcels()[1]), "the highest for the whole episode");
        } else {
          same(parcels().length, 1, "one upload");
          same(hex(await episode.finish()), parcels()[0], "and nothing else is ever drawn");
        }
      }
    },
    "a page that closes after the end of its episode hands over what waits for its time": async () => {
      for (const contract of [joint, shuffle]) {
        const { join, parcels } = await opened(contract);
        const device = await join();
        const episode = await device.begin();
        step(episode);
        const body = hex(await episode.finish());
        same(parcels(), [], "it waits for its time");
        device.leave();
        await settle();
        same(parcels(), [body], "it is handed over");
      }
    },
    "uploads have one length, whatever happened": async () => {
      const lengths = new Set();
      for (const steps of [0, 1, 3]) {
        const { join, parcels } = await opened(joint);
        const device = await join();
        const episode = await device.begin();
        for (let one = 0; one < steps; one++) step(episode, 2 * (one > 0));
        await settle();
        device.leave();
        await settle();
        lengths.add(parcels()[0].length);
      }
      same(lengths.size, 1, "lengths");
    },
    "where nothing is sealed a page that closes hands nothing over": async () => {
      const { sealing, ...intermediary } = joint.intermediary;
      const { join, parcels } = await opened({ ...joint, intermediary });
      const device = await join();
      step(await device.begin());
      await settle();
      device.leave();
      await settle();
      same(parcels(), [], "nothing");
    },
  };
}
