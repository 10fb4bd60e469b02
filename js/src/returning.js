/** People who come again: how often, in which batches, and with which tokens; loaded where a contract lets them. */

import { keeps } from "./mechanism.js";
import { fromBase64 } from "./contract.js";
import { require } from "./question.js";
import { reading, signedBytes } from "./wire.js";

const LONGEST = 10 * 366 * 86400; // seconds of a period

/** {again, keepsAll} of a contract with several reports a person. pin: its hash. */
export function readReturning({ trust, reports_per_person: times, mechanism, issuer, period, key }, pin) {
  const seconds = period?.seconds;
  let current; // the period that it is, where there are periods
  const apart = (trust === "joint" && mechanism.separation) || 1;
  const width = issuer?.later ? issuer.batches : 0;
  const gap = width ? 1 + Math.ceil((apart - 1) / width) : 0;
  require(
    (!period || (Object.keys(period).length === 1 && Number.isInteger(seconds) && seconds > 0 && seconds <= LONGEST)) &&
    [times, apart, width || 1].every((one) => Number.isInteger(one) && one > 0) && (trust !== "joint" || (mechanism.participations ?? 1) === times) && (trust === "local" || !issuer || width),
    "The contract does not say how often and when a person may come. Update it.",
  );
  const slotOf = (batch) => Math.floor((batch - 1) / width);
  /** Visits to the operator, but for those to another contract in an earlier period that was as long. */
  const had = (spent, mark) => spent.filter((one) => mark.some((part, at) => one[at] === part) && !(seconds && one[3] !== pin && one[6] === seconds && one[5] < current));
  const recent = (spent, mark) => had(spent, mark).filter((one) => one[5] === current).length;
  /** A visit to another contract of the operator, or one in a batch or slot too close. */
  const bars = (batch) => (one) =>
    one[3] !== pin || (batch && trust !== "local" && (Math.abs(one[4] - batch) < apart || (width && Math.abs(slotOf(one[4]) - slotOf(batch)) < gap)));
  const again = {
    /** Whether guarantees are renewed sooner than under another contract. */
    sooner: (before) => seconds < (before.period?.seconds ?? Infinity),
    /** Whether no visit is left to an operator, or none that may be in a batch, or one goes on or waits. */
    over: ({ open, letter }, spent, mark, batch) => Boolean(open || letter || recent(spent, mark) >= times || had(spent, mark).some(bars(batch))),
    /** What a visit is remembered by: whom it was to, the contract, its batch (under trust local its number), and the period and how long it is. */
    mark: (spent, mark, batch) => [...mark, pin, batch ?? had(spent, mark).length + 1, ...(seconds ? [current, seconds] : [])],
    /**
     * The period that it is: the earlier of the latest that the service signed and the one by this device's clock, and none before that of a visit.
     * time: in milliseconds, by this device's clock. Where nothing is heard it is one that was signed before.
     */
    async follow(change, mark, signal, time, service, fail) {
      const own = Math.floor(time / 1000 / seconds);
      const [seen, visits] = await change((memory, spent) => [memory.period?.pin === pin ? memory.period.number : 0, had(spent, mark).filter((one) => one[3] === pin).map((one) => one[5])]);
      let signed = seen;
      try {
        if (signed < own) {
          const data = await signedBytes(await service.get("/v1/period", signal, { cache: "no-store" }), "period", fromBase64(key));
          const told = data && reading(data);
          require(told.schema === "confide.period/1" && `sha256:${told.contract}` === pin && Number.isInteger(told.number), "The service shows a period that is not signed by the contract's key.");
          signed = Math.max(signed, told.number);
          await change((memory) => (memory.period = { pin, number: signed }));
        }
      } catch (error) {
        fail(error);
      }
      current = Math.max(Math.min(signed, own), ...visits);
    },
    /** {done, slot, prefix}: whether there is nothing to take, else the slot that a token is to be of, and what names it in front of one. */
    async look(change, over, mark, between, flush, signal, ...clock) {
      await flush(); // what waits may be counted by now
      if (seconds) await again.follow(change, mark, signal, ...clock);
      if (await change(over)) return { done: true };
      const batch = await between?.next(signal);
      const [done, visits] = await change((memory, spent) => [over(memory, spent, batch), recent(spent, mark)]);
      const slot = width ? slotOf(batch) : visits;
      return { done, slot, prefix: width ? slot.toString(16).padStart(4, "0") : "" };
    },
  };
  return { again, keepsAll: (loss, guarantee) => keepsAll(loss, guarantee, times) };
}

/**
 * Whether that many reports together keep a guarantee: Gaussian losses add up in squares. Of pure ones the worst is randomised response, k of whose m bits
 * are flipped: delta = sum over k of C(m, k) (e^((m - k) e) - e^(epsilon + k e))+ / (1 + e^e)^m.
 */
export function keepsAll({ epsilon: pure, mu, rho = Math.min(pure ** 2 / 2, pure) }, guarantee, times) {
  const { epsilon, delta } = guarantee;
  if (guarantee.rho != null || mu !== undefined) return keeps({ mu: mu === undefined ? mu : mu * Math.sqrt(times), rho: times * rho }, guarantee);
  let [chosen, sum] = [1, 0];
  for (let flipped = 0; 2 * flipped < times; flipped++) {
    const left = (times - 2 * flipped) * pure - epsilon; // e^((m - k) e) (1 - e^-left)
    if (left > 0) sum += chosen * Math.exp(-flipped * pure) * -Math.expm1(-left);
    chosen *= (times - flipped) / (flipped + 1);
  }
  return sum / (1 + Math.exp(-pure)) ** times <= delta;
}
