/** What the tests say with, in Node and in a browser alike. */

export function ok(holds, why) {
  if (!holds) throw new Error(why);
}

export function same(found, wanted, why) {
  const [first, second] = [found, wanted].map((one) => JSON.stringify(one, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value)));
  ok(first === second, `${why}: ${first?.slice(0, 200)} is not ${second?.slice(0, 200)}`);
}

export async function refused(work, why) {
  try {
    await work();
  } catch (error) {
    ok(error.constructor.name === "Refusal" && /^[A-Z].*\.$/.test(error.message), `${why}: not a sentence: ${error.stack}`);
    return error.message;
  }
  throw new Error(`${why}: it was not refused`);
}

export const bytesOf = (text) => new TextEncoder().encode(text);
