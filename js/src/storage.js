/** Where a device remembers. */

export function memoryStorage() {
  const kept = new Map();
  return { get: (key) => kept.get(key) ?? null, set: (key, text) => void kept.set(key, text) };
}

export async function browserStorage() {
  try {
    const request = indexedDB.open("confide-device", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("kept");
    const database = await settled(request);
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
  } catch {
    const local = globalThis.window?.localStorage;
    return local ? { get: (key) => local.getItem(key), set: (key, text) => local.setItem(key, text) } : null;
  }
}

function settled(request) {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = request.onblocked = () => failed(request.error);
  });
}

const turns = new WeakMap();

/** Work while nobody else does, in this tab or another. */
export function exclusive(storage, work) {
  if (globalThis.navigator?.locks) return navigator.locks.request("confide-device", work);
  const turn = (turns.get(storage) ?? Promise.resolve()).then(work, work);
  turns.set(storage, turn);
  return turn;
}
