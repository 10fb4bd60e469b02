/** The dashboard: one look at what is public, then a stream of events. Everything on it can be fetched by anyone. */

import { drawErrors, drawReturns } from "./charts.js";
import { changes, drawLegend, drawPolicy } from "./policy.js";
import { get, loadContract, readPolicies, verify } from "./verify.js";

const $ = (id) => document.getElementById(id);
const put = (id, text) => {
  if ($(id).textContent !== text) $(id).textContent = text;
};
const many = (value) => value.toLocaleString("en");
const reading = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
const POLLING = 10000;

let contract = null;
let story = null;
let now = null;
let chosen = null; // the round whose policy the reader asked to see; otherwise the newest
const policies = new Map();

function duration(seconds) {
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, name] = units.find(([one]) => seconds >= 1.5 * one || one === 1);
  const count = Math.max(1, Math.round(seconds / size));
  return `${many(count)} ${name}${count === 1 ? "" : "s"}`;
}

function showContract() {
  put("name", contract.name);
  document.title = `${contract.name} · confide`;
  put("pin", contract.pin ?? "cannot be computed on a page that is not secure");
  put("footer", `Run by ${contract.operator}. No cookies, nothing from anywhere else, no addresses kept. This page reads what is public.`);
}

function showGuarantee({ warnings, sentence, kept, sure, odds, epsilon, delta, formal, reports, period }) {
  $("warnings").replaceChildren(...warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  $("warnings").hidden = !warnings.length;
  put("promise-title", sentence);
  put("promise-more", kept);
  put("odds-value", `${sure} %`);
  $("odds-after").style.width = `${sure}%`;
  const once = `${reports === 1 ? "one report" : `${reports} reports`}${period ? ` in each period of ${period}` : ", ever"}`;
  const within = period ? " in a period" : "";
  put(
    "promise-limit",
    `In numbers: each person sends ${once}, and it changes no observer's odds about what that person did${within} by more than a factor of ${odds}` +
      `${delta ? `, except with probability ${delta}` : ""} (${formal}; epsilon ${epsilon}).`,
  );
}

function showStanding() {
  const { round, rounds, people, users, closes, rate, ended, live, refusals, head, alarm, period } = now;
  put("alarm", alarm ? `Alarm. ${alarm}` : "");
  $("alarm").hidden = !alarm;
  put("people", many(people));
  put("people-label", live ? "People counted" : "People in closed rounds");
  put("users", `of ${many(users)}`);
  put("round", round === null ? "–" : many(Math.min(round, rounds)));
  put("rounds", round === null ? "opening" : `of ${many(rounds)}`);
  put("head", head ?? "–");
  $("period-figure").hidden = !period;
  if (period) {
    put("period", many(period.number));
    put("period-more", `until ${new Date(1000 * period.ends).toLocaleString()}; then guarantees are given anew`);
  }
  const moving = rate > 0;
  if (ended) {
    put("next", "done");
    put("next-more", "the last policy stays");
    put("done", "done");
    put("done-more", "no report counts any more");
  } else {
    const left = closes === null ? null : closes - people;
    put("next", !live ? "by time" : left === null ? "–" : left <= 0 ? "learning" : moving ? `~ ${duration(left / rate)}` : `${many(left)} people`);
    put("next-more", !live ? "a fixed while after its batch's last ticket" : left === null || left <= 0 ? "" : moving ? `${many(left)} more people, ${+rate.toPrecision(2)} a second now` : "still to come; no user has come just now");
    put("done", moving ? `~ ${duration((users - people) / rate)}` : `${many(users - people)} people`);
    put("done-more", moving ? "at the present rate" : "still to come");
  }
  if (!live) put("schedule-note", "A batch closes a fixed while after its last ticket, however many came, so that no visit decides when; then a policy is learned and all users get it.");
  showSchedule();
  showRefusals(refusals);
}

function showSchedule() {
  if (!story) return;
  const { ends } = story;
  const bar = $("schedule");
  if (bar.childElementCount !== ends.length) {
    bar.replaceChildren(...ends.map(() => document.createElement("i")));
    bar.classList.toggle("many", ends.length > 60); // gaps alone would be wider than a telephone
    for (const part of bar.children) part.append(document.createElement("b"));
  }
  ends.forEach((end, at) => {
    const start = at ? ends[at - 1] : 0;
    const share = Math.min(Math.max((now.people - start) / (end - start), 0), 1);
    const part = bar.children[at];
    part.style.flex = `${end - start} 1 0`;
    part.firstChild.style.width = `${100 * share}%`;
    part.className = share > 0 && share < 1 ? "open" : "";
  });
  bar.setAttribute("aria-label", `${many(now.people)} of ${many(now.users)} people; ${now.ended ? "all rounds are closed" : `round ${now.round ?? 1} of ${now.rounds} is open`}.`);
}

const REASONS = {
  garbage: "not a report at all", report: "a report no honest device sends", round: "names a round that is not open", contract: "written under another contract",
  ended: "came after the last round", length: "too long", type: "of another type", rate: "too many at once", busy: "too many waiting", store: "the database did not respond",
};

function showRefusals(refusals) {
  if (!refusals) {
    put("health-note", "Under this trust, what was refused is an exact function of what people sent. Only the operator may see it.");
    return $("refusals").replaceChildren();
  }
  const all = Object.entries(refusals).filter(([, count]) => count > 0);
  const rows = all.filter(([reason]) => REASONS[reason]).sort((a, b) => b[1] - a[1]);
  const others = all.reduce((sum, [reason, count]) => sum + (REASONS[reason] ? 0 : count), 0);
  const most = Math.max(...rows.map(([, count]) => count), 1);
  put("health-note", (rows.length ? "Reports that were refused changed nothing." : "No report has been refused.") + ` Counted since this collector was started${others ? `; besides, ${many(others)} requests that were no reports` : ""}.`);
  const box = document.createElement("div");
  box.className = "bars";
  for (const [reason, count] of rows) {
    const row = document.createElement("div");
    row.className = "bar";
    const [text, number, track, fill] = ["span", "span", "span", "span"].map((name) => document.createElement(name));
    text.textContent = REASONS[reason];
    number.textContent = many(count);
    track.className = "track";
    fill.className = "fill";
    fill.style.width = `${(100 * count) / most}%`;
    track.append(fill);
    row.append(text, number, track);
    box.append(row);
  }
  $("refusals").replaceChildren(box);
}

const table = (heads, rows) => {
  const made = document.createElement("table");
  made.className = "plain";
  const head = made.createTHead().insertRow();
  for (const text of heads) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    head.append(cell);
  }
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().append(text);
  }
  return made;
};

function showTable(id, heads, rows) {
  $(id).hidden = rows.length === 0;
  $(id).querySelector(".scroll").replaceChildren(table(heads, rows));
}

function showLearned() {
  const { rounds, objective, outlook, confidence } = story;
  const { horizon } = contract.spec;
  const told = rounds.map((one) => ({ ...one, from: one.since })).filter(({ mean_return: found }) => found);
  const word = objective === "cost" ? "cost of a visit" : "reward of a visit";
  if (told.length) {
    const { mean_return: found, round } = told.at(-1);
    const sure = `with ${100 * confidence} % confidence, sampling error and noise included`;
    const paid = objective === "cost" ? "paid" : "received";
    put(
      "return-note",
      !found.whole ? `What users of each round ${paid} on average, following its policy. Of one person's steps only some are counted; the others may have ${paid} nothing, or 1 each. Round ${round}: between ${found.low.toFixed(2)} and ${found.high.toFixed(2)} of at most ${horizon}, ${sure}.`
      : contract.question.one_in ? `What users ${paid} on average, by one in ${contract.question.one_in} of them, drawn beforehand, whose devices report their return by one randomised bit. Each point is of the rounds since the one before it. Up to round ${round}: ${Math.min(Math.max(found.value, 0), horizon).toFixed(2)} of at most ${horizon}; between ${found.low.toFixed(2)} and ${found.high.toFixed(2)} ${sure}.`
      : `What users of each round ${paid} on average, following its policy. Round ${round}: ${Math.min(Math.max(found.value, 0), horizon).toFixed(2)} of at most ${horizon}; ` +
        `between ${found.low.toFixed(2)} and ${found.high.toFixed(2)} ${sure}.`,
    );
    drawReturns($("return-chart"), told, horizon, now?.users ?? told.at(-1).people, word);
    showTable("return-table", ["Round", "People", word, "from", "to"], told.map(({ round: number, people, mean_return: { value, low, high, whole } }) => [String(number), many(people), whole ? value.toFixed(3) : "–", low.toFixed(3), high.toFixed(3)]));
  } else {
    const note = document.createElement("p");
    note.className = "empty";
    if (rounds.length) put("return-note", contract.question.kind === "asked" ? "Only first visits of a pair of state and action are reported, so that total returns cannot be estimated." : "Returns are not part of the query.");
    note.textContent = rounds.length ? "The statistic of this contract has no returns." : "The first round is still open. Its people are being counted.";
    $("return-chart").replaceChildren(note);
  }
  const { needed, round, people, error, half } = outlook;
  const users = people.at(-1);
  const about = (count) => (count === null ? "more than 10,000,000" : many(Number(count.toPrecision(2))));
  const forecast = half ? ` In simulated worlds of these sizes half of the possible gain is had from about ${about(half.people)} people (${about(half.low)} to ${about(half.high)}).` : "";
  put(
    "sure-note",
    (needed === 0 ? "There is no noise: every count is exact."
    : needed === null ? "Under this guarantee the average count never exceeds its noise."
    : round ? `The average count exceeds its noise after about ${many(needed)} people, when round ${round} closes. Until then the policy is mostly guesswork.`
    : `The average count would exceed its noise after about ${many(needed)} people; this service ends with ${many(users)}. Expect something to be learned about frequent situations only.`) + forecast,
  );
  if (error.some((one) => one > 0)) {
    drawErrors($("sure-chart"), outlook, now?.people ?? 0);
    showTable("sure-table", ["People", "typical error of the average count"], people.filter((_, at) => at % 6 === 0 || at === people.length - 1).map((count) => [many(count), `${(100 * error[people.indexOf(count)]).toPrecision(3)} %`]));
  }
  $("demo-link").hidden = !story.demo;
}

async function policyOf(number) {
  if (!policies.has(number)) {
    const signed = reading(await get(`/v1/rounds/${number}`));
    const head = reading(Uint8Array.from(atob(signed.head), (letter) => letter.charCodeAt(0)));
    const bytes = await get(`/v1/policies/${head.policy}`);
    policies.set(number, { head, act: globalThis.crypto?.subtle ? await readPolicies(bytes, head.policy, contract.spec) : null });
  }
  return policies.get(number);
}

async function showPolicy() {
  if (!now?.round) return;
  const last = now.round;
  const number = Math.min(chosen ?? last, last);
  const slider = $("policy-round");
  Object.assign(slider, { min: 1, max: last, value: number, disabled: last === 1 });
  $("policy-back").disabled = number === 1;
  $("policy-forth").disabled = number === last;
  const { act } = await policyOf(number);
  if (!act) return put("policy-note", "This page is not secure, so no policy can be checked, and none is shown.");
  const before = number > 1 ? (await policyOf(number - 1)).act : null;
  const { spec, labels } = contract;
  const cells = spec.states * spec.horizon;
  const moved = before ? changes(act, before, spec) : 0;
  const whose = number === last ? (now.ended ? "the last one" : "the one in use") : `round ${number} of ${last}`;
  slider.setAttribute("aria-valuetext", `Round ${number}`);
  put(
    "policy-note",
    `Round ${number}, ${whose}. ` +
      (before ? (moved ? `${many(moved)} of ${many(cells)} cells changed since round ${number - 1}.` : `Nothing changed since round ${number - 1}.`) : "Nothing was known before the first user.") +
      " States down, steps across.",
  );
  let mixed = false;
  for (let state = 0; state < spec.states && !mixed; state++) mixed = Math.max(...act(0, state)) < 0.99;
  drawLegend($("policy-legend"), labels.actions, mixed);
  drawPolicy($("policy-picture"), act, before, spec, labels);
}

async function showReleases() {
  if (!story.rounds.length) return;
  const link = (href, text, file) => {
    const made = document.createElement("a");
    Object.assign(made, { href, textContent: text });
    if (file) made.download = file;
    return made;
  };
  const rows = [];
  for (const { round, people, bytes } of story.rounds.slice(-50).reverse()) {
    const { head } = await policyOf(round);
    const row = document.createElement("tr");
    const cells = [String(round), many(people), link(`/v1/policies/${head.policy}`, `${head.policy.slice(0, 12)}…`, `policy-${round}`), link(`/v1/releases/${round}`, `release ${round} (${many(bytes)} bytes)`, `release-${round}`), link(`/v1/rounds/${round}`, `head ${round}`)];
    cells.forEach((content, at) => {
      const cell = row.insertCell();
      if (at === 1) cell.className = "number";
      cell.append(content);
    });
    rows.push(row);
  }
  $("release-rows").replaceChildren(...rows);
}

/** It is computed when a collector starts, which takes a while. */
let certified = false;
async function showCertificate() {
  if (certified) return;
  certified = true;
  const told = reading(await get("/v1/certificate"));
  const { guarantees, mechanisms, assumptions, hides, unit } = told.certificate;
  const list = document.createElement("ul");
  list.className = "says";
  for (const line of [...told.says, ...assumptions.map((text) => `it is assumed: ${text}`)]) {
    const item = document.createElement("li");
    item.textContent = line[0].toUpperCase() + line.slice(1) + ".";
    list.append(item);
  }
  const size = ({ epsilon, delta }) => `epsilon ${+epsilon.toPrecision(4)}${delta ? `, delta ${delta}` : ""}`;
  const rows = told.with_reports.map((row) => [row.reports === told.reports_per_person ? `${row.reports}, as allowed` : `${row.reports}, if a user cheats`, size(row)]);
  const intro = document.createElement("p");
  intro.textContent = `Hidden is ${unit ?? hides}. Kept by ${mechanisms.map(({ name }) => name).join(" and ")}; computed here: ${size(guarantees[0])}.`;
  for (const [many, kept] of Object.entries(told.period?.over ?? {})) rows.push([`as allowed, in ${many === "1" ? "one period" : `each of ${many} periods`}`, size(kept)]);
  const guaranteed = table(["Reports of one person", "the guarantee then"], rows);
  guaranteed.classList.add("wrapped");
  $("certificate-body").replaceChildren(intro, guaranteed, list);
}

async function reload() {
  story = reading(await get("/dashboard/story.json"));
  showGuarantee(story.guarantee);
  showLearned();
  if (now) showStanding();
  await Promise.all([showPolicy(), showReleases()]);
}

let lastHead = null;
async function heard(standing) {
  now = standing;
  showStanding();
  const state = now.ended ? "ended" : "live";
  $("live").dataset.state = state;
  put("live-text", state);
  if (now.certified) showCertificate().catch(() => (certified = false));
  if (now.head !== lastHead) {
    lastHead = now.head;
    await reload().catch(() => {});
  } else if (story) drawErrorsNow();
}

const drawErrorsNow = () => story.outlook.error.some((one) => one > 0) && drawErrors($("sure-chart"), story.outlook, now.people);

/** A stream while the page is seen: a browser has few connections for an address, and hidden tabs need none of them. */
let stream = null;
function listen() {
  stream?.close();
  stream = document.hidden ? null : new EventSource("/dashboard/events");
  if (!stream) return;
  stream.onmessage = ({ data }) => heard(JSON.parse(data));
  stream.onerror = ({ target }) => {
    $("live").dataset.state = "lost";
    put("live-text", "reconnecting");
    if (target.readyState === EventSource.CLOSED) setTimeout(poll, POLLING);
  };
}

async function poll() {
  await get("/dashboard/standing.json").then((bytes) => heard(reading(bytes)), () => {});
  listen();
}

function choose(number) {
  chosen = number >= now.round ? null : Math.max(number, 1);
  showPolicy().catch(() => {});
}

$("policy-round").addEventListener("input", ({ target }) => choose(Number(target.value)));
$("policy-back").addEventListener("click", () => choose((chosen ?? now.round) - 1));
$("policy-forth").addEventListener("click", () => choose((chosen ?? now.round) + 1));

$("verify").addEventListener("click", async () => {
  const [button, bar, result] = [$("verify"), $("verify-progress"), $("verify-result")];
  button.disabled = true;
  bar.hidden = false;
  result.className = "";
  put("verify-result", "Checking…");
  const began = performance.now();
  try {
    const found = await verify(contract, (done, all) => Object.assign(bar, { max: all, value: done }));
    result.className = "ok";
    put(
      "verify-result",
      `All ${many(found.rounds)} rounds hold: every signature, policy and release is the signed one, from the first to the head ${found.head.slice(0, 16)}…` +
        `${found.noise ? " And the contract's noise keeps its promise, computed here anew." : ""} (${((performance.now() - began) / 1000).toFixed(1)} s)`,
    );
  } catch (error) {
    result.className = "wrong";
    put("verify-result", `This does not hold: ${error.message}`);
  } finally {
    button.disabled = false;
    bar.hidden = true;
  }
});

addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
new ResizeObserver(() => story && showLearned()).observe($("main"));
document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => stream?.close());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => showPolicy().catch(() => {}));

contract = await loadContract();
showContract();
await reload().catch(() => {});
listen();
