/** Where a device remembers, and which page is at it. */

const PATIENCE = 5000; // milliseconds for a database that never opens, and for a page that never lets go

export function memoryStorage() {
  const kept = new Map();
  const local = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => void kept.set(key, text) };
  return { local, get: local.getItem, set: local.setItem };
}

/** IndexedDB, and in a page localStorage besides; whole: false where one of them cannot be read, so that it is unknown what was spent. */
export async function browserStorage() {
  if (!("indexedDB" in globalThis)) return null;
  const page = "window" in globalThis;
  const database = await openDatabase().catch(() => null);
  let local = null;
  try {
    if (page) spentOf((local = window.localStorage).getItem("confide"));
  } catch {
    local = null;
  }
  if (!database || (page && !local)) return { ...(database ?? memoryStorage()), whole: false };
  return page ? both(database, local) : database;
}

/** What was spent is written in both, and read from both: forgetting takes the two of them. */
function both(database, local) {
  return {
    local,
    get: async (key) => {
      const text = await database.get(key);
      const spent = spentOf(text);
      const more = lacking(spent, spentOf(local.getItem(key)));
      return more.length ? JSON.stringify({ services: {}, ...JSON.parse(text), spent: [...spent, ...more] }) : text;
    },
    set: (key, text) => {
      const kept = local.getItem(key);
      const spent = spentOf(kept);
      const more = lacking(spent, spentOf(text));
      if (more.length) local.setItem(key, JSON.stringify({ ...JSON.parse(kept), spent: [...spent, ...more] }));
      return database.set(key, text);
    },
  };
}

const spentOf = (text) => JSON.parse(text)?.spent ?? [];
const lacking = (known, marks) => marks.filter((mark) => !known.some((one) => String(one) === String(mark)));

async function openDatabase() {
  const request = indexedDB.open("confide-device", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("kept");
  const database = await Promise.race([settled(request), new Promise((_, failed) => setTimeout(failed, PATIENCE))]);
  const store = (mode) => database.transaction("kept", mode, { durability: "strict" }).objectStore("kept");
  return {
    get: async (key) => (await settled(store("readonly").get(key))) ?? null,
    set: (key, text) =>
      new Promise((done, failed) => {
        const { transaction } = store("readwrite").put(text, key);
        transaction.oncomplete = done;
        transaction.onabort = () => failed(transaction.error);
      }),
  };
}

function settled(request) {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = request.onblocked = () => failed(request.error);
  });
}

const turns = new WeakMap();
const locks = () => globalThis.navigator?.locks;
const episodeLock = (id) => `confide-episode-${id}`;

/** Work while no other page does, in this tab or another. */
export function exclusive(storage, work) {
  if (locks()) return locks().request("confide-device", { signal: AbortSignal.timeout(PATIENCE) }, work);
  const turn = (turns.get(storage) ?? Promise.resolve()).then(work, work);
  turns.set(storage, turn);
  return turn;
}

/** Show other pages that an episode goes on, until what this gives is called or the page ends. */
export async function hold(id) {
  let release;
  const over = new Promise((done) => (release = done));
  if (locks()) await new Promise((held) => locks().request(episodeLock(id), () => (held(), over)));
  return release;
}

/** Whether an episode goes on in some page; undefined where pages cannot know of each other. */
export async function isHeld(id) {
  return (await locks()?.query())?.held.some(({ name }) => name === episodeLock(id));
}
