/** The game, and beside it what leaves the page: every request of the device passes a gate that shows it. */

import { Device, memoryStorage } from "./device/src/index.js";
import { hex } from "./device/src/contract.js";
import { category } from "./device/src/question.js";
import { unpack } from "./device/extra/reading.js";
import { fact, likelihood, pair } from "./device/extra/likelihood.js";
import { node } from "./charts.js";
import { DRIFT, lives, step, SWIM } from "./game.js";

const $ = (id) => document.getElementById(id);
const put = (id, text) => ($(id).textContent = text);
const many = (value) => value.toLocaleString("en");
const HEADER = 56;
const CROWD = 100;
const TOGETHER = 4;

let device = null;
let episode = null;
let contract = null;
let place = 0;
let advised = DRIFT;
let life = null;
let arrived = () => {}; // is called when a letter comes to the gate
let waiting = null; // the letter that waits for a press: {body, go}
const approved = new Set(); // letters that the person has sent once: the same bytes may go again by themselves

/** All that leaves this page goes through here. A letter waits until somebody presses send; what is fetched is the same for everybody. */
function gate(url, init) {
  if (init?.method !== "POST") return fetch(url, init);
  const send = () => fetch(url, { ...init, signal: AbortSignal.timeout(10000) });
  if (approved.has(hex(init.body))) return send();
  return new Promise((done) => {
    waiting = { body: init.body, go: () => done(send()) };
    arrived();
    showLetter(init.body);
  });
}

function heard({ type, message }) {
  if (type === "refused") {
    put("alert", message);
    $("alert").hidden = false;
  } else if (type === "counted") {
    put("sent", "✓ Counted. It is one of many now.");
    $("sent").className = "ok";
    finished();
  } else if (type === "dropped") {
    put("sent", "The service takes no more reports. It was dropped.");
    finished();
  } else if (type === "offline" && approved.size) {
    put("sent", "The service does not answer. The same bytes are kept, and sent again by themselves.");
    $("sent").className = "";
  }
}

function finished() {
  $("send").disabled = true;
  $("again-box").hidden = false;
}

async function join(storage) {
  device = await Device.join(location.origin, { fetch: gate, onevent: heard, ...(storage && { storage }) });
  contract = device.contract;
  if (!contract) {
    put("clock", "");
    put("advice", "This device takes no part.");
    put("alert", device.refusal ?? "The service cannot be reached. Try again in a moment.");
    $("alert").hidden = false;
    return;
  }
  put("name", contract.name);
  put("steps", String(contract.spec.horizon));
  put("drift-label", worded(contract.labels.actions[DRIFT], "drift"));
  put("swim-label", worded(contract.labels.actions[SWIM], "swim"));
  // A report of an earlier visit goes first.
  await Promise.race([device.flush(), new Promise((done) => (arrived = done))]);
  if (!waiting) await play();
}

/** A label of the contract's, or a word for one that was only counted. */
const worded = (label, word) => (/^[sa]\d+$/.test(label) ? word : label);
const placed = (at) => {
  const label = contract.labels.states[at];
  if (!/^[sa]\d+$/.test(label)) return label;
  return at === 0 ? "the bank" : at === contract.spec.states - 1 ? "the spring" : `pool ${at}`;
};
const acted = (action) => worded(contract.labels.actions[action], action === SWIM ? "swim" : "drift");

async function play() {
  episode = await device.begin();
  place = 0;
  life = { states: [0], actions: [], rewards: [] };
  put("coins", "0 coins");
  put("story", "What you do is seen by this page and by nobody else.");
  $("letter").hidden = true;
  $("nothing").hidden = false;
  $("again-box").hidden = true;
  turn();
}

function turn() {
  const { horizon } = contract.spec;
  const at = life.actions.length;
  drawRiver();
  put("clock", `Stroke ${Math.min(at + 1, horizon)} of ${horizon}`);
  const over = at === horizon;
  for (const id of ["drift", "swim", "follow"]) $(id).disabled = over;
  if (over) return end();
  advised = episode.act(place);
  $("drift").classList.toggle("advised", advised === DRIFT);
  $("swim").classList.toggle("advised", advised === SWIM);
  const said = document.createElement("strong");
  said.textContent = acted(advised);
  $("advice").replaceChildren(device.round > 1 ? "What those before you taught: " : "Nobody has taught it anything yet. It says: ", said, ".");
}

function stroke(action) {
  const { states } = contract.spec;
  const { reward, next } = step(states, place, action);
  episode.observe(reward, next, action);
  life.actions.push(action);
  life.rewards.push(reward);
  life.states.push(next);
  const coins = life.rewards.reduce((sum, one) => sum + one, 0);
  put("coins", `${coins} coin${coins === 1 ? "" : "s"}`);
  const how = next > place ? "you got ahead" : next < place ? "the current took you back" : place === 0 && action === DRIFT ? "you stayed where it is easy" : "you held your place";
  put("story", `${action === SWIM ? "You swam" : "You drifted"}, and ${how}${reward ? ", and found a coin" : ""}.`);
  place = next;
  turn();
}

async function end() {
  put("clock", "The visit is over");
  put("advice", "Your device has drawn one report about it. Look at it before it leaves.");
  $("drift").classList.remove("advised");
  $("swim").classList.remove("advised");
  const body = await Promise.race([episode.finish(), new Promise((done) => setTimeout(done, 300, "waits"))]);
  if (body !== null) return;
  $("nothing").textContent = "Nothing: this person has sent a report before, and a device sends one, ever. The visit was yours alone.";
  finished();
}

function drawRiver() {
  const { states } = contract.spec;
  const [wide, high] = [600, 190];
  const each = wide / states;
  const svg = node("svg", { viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" });
  for (let at = 0; at < states; at++) {
    const middle = each * (at + 0.5);
    svg.append(node("rect", { class: `pool${at === place ? " here" : ""}`, x: each * at + 4, y: 34, width: each - 8, height: 122, rx: 18 }));
    for (const y of [70, 96, 122]) {
      const size = Math.min(each / 5, 18);
      svg.append(node("path", { class: "wave", d: `M${middle - size} ${y + (at % 2) * 6}q${size / 2} -7 ${size} 0t${size} 0` }));
    }
    svg.append(node("text", { class: "label", x: middle, y: 178 }, states > 7 && at % 2 ? "" : placed(at)));
  }
  const far = each * (states - 0.5);
  for (const [dx, dy] of [[-13, 4], [0, -4], [13, 5]]) {
    svg.append(node("circle", { cx: far + dx, cy: 50 + dy, r: 8, fill: "#fbbf24", stroke: "#92600a", "stroke-width": 2 }));
  }
  const here = each * (place + 0.5);
  svg.append(
    node(
      "g",
      { class: "swimmer" },
      node("ellipse", { cx: here, cy: 116, rx: 26, ry: 7, fill: "#06222e", "fill-opacity": 0.22 }),
      node("path", { d: `M${here - 24} 108q10 -16 26 -8l14 -2q8 12 -10 12z`, fill: "#d9480f" }),
      node("circle", { cx: here + 22, cy: 92, r: 10, fill: "#ffd8b5", stroke: "#7a3b12", "stroke-width": 2 }),
    ),
  );
  $("river").replaceChildren(svg);
  $("river").setAttribute("aria-label", `You are at ${placed(place)}, place ${place + 1} of ${states}. Coins are at ${placed(states - 1)}.`);
}

const PARTS = [
  [0, 4, "what this is: a letter"],
  [4, 20, "a random number, drawn for this letter only"],
  [20, 52, "the contract it was written under"],
  [52, 56, "the round whose policy was followed"],
  [56, 60, "what this is: a report"],
  [60, 94, "how it was randomised, and what was asked"],
  [94, 98, "what was asked about, drawn whatever happened"],
];
const ANSWER = 98;

function showLetter(body) {
  contract ??= device?.contract;
  if (!contract) return setTimeout(showLetter, 50, body); // it was kept from an earlier visit, and the device is just joining
  $("letter").hidden = false;
  $("nothing").hidden = true;
  $("send").disabled = false;
  put("sent", "");
  put("bytes-note", life?.actions.length === contract.spec.horizon ? `${body.length} bytes. Only the marked ones are about you.` : `${body.length} bytes, kept from an earlier visit and not acknowledged yet. Only the marked ones are about a person.`);
  const spaced = (from, to) => hex(body.slice(from, to)).replace(/../g, "$& ");
  const answer = Object.assign(document.createElement("mark"), { textContent: spaced(ANSWER).trim() });
  $("bytes").replaceChildren(spaced(0, ANSWER), answer);
  const rows = PARTS.map(([from, to, words]) => {
    const [name, bytes] = [document.createElement("dt"), document.createElement("dd")];
    name.textContent = words;
    bytes.textContent = spaced(from, to);
    return [name, bytes];
  });
  $("parts").replaceChildren(...rows.flat());
  $("bytes").dataset.hex = hex(body);
  showMeaning(unpack(contract.design, body.slice(HEADER)));
}

function inWords(told, asked) {
  if (asked && !told) return "I was never there to do that";
  if (asked) return `the first time, ${told.next === null ? "the visit ended" : `it took me to ${placed(told.next)}`}, ${told.rewarded ? "with a coin" : "without a coin"}`;
  if (!told) return "that a stroke was not taken";
  const { state, action, next, rewarded } = told;
  return `at ${placed(state)}: ${acted(action)}, then ${next === null ? "the visit ended" : `at ${placed(next)}`}, ${rewarded ? "with a coin" : "without a coin"}`;
}

function showMeaning(report) {
  const { design, promise } = contract;
  const said = Array.from(report.cells.keys()).filter((at) => report.cells[at] === 1);
  const asked = design.question.kind === "asked" && pair(design, report.row);
  const stroke = contract.spec.model === "per-step" ? ` at stroke ${1 + Math.floor((report.row * contract.spec.horizon) / design.question.rows)}` : "";
  const about = asked ? `Asked what comes of ${acted(asked.action)} at ${placed(asked.state)}${stroke}` : "At one stroke, drawn at random";
  const words = (at) => inWords(fact(design, at, report.row), asked);
  const chances = likelihood(contract, report);
  const factor = promise.epsilon === null ? null : Math.exp(promise.epsilon);
  if (!chances) {
    put("fact", `${many(report.cells.length)} numbers, each with noise added that is larger than anything one person could do to it.`);
    put("truth", "");
    $("lives").replaceChildren();
  } else if (design.mechanism.packing === "index") {
    const mine = own(said[0], report.row);
    const hit = 1 / (1 + (design.question.width - 1) * Math.exp(-contract.mechanism.epsilon));
    put("fact", asked ? `“${about}: ${words(said[0])}.”` : `“${about}, I was ${words(said[0])}.”`);
    put(
      "truth",
      `The device tells the truth with chance ${(100 * hit).toFixed(0)} %, and otherwise one of ${many(design.question.width - 1)} other facts, all alike. ` +
        (mine === null ? "" : mine ? "Of your visit it happens to be true; nobody else can tell." : "Of your visit it is not true; nobody else can tell."),
    );
  } else {
    put("fact", `“${about}: yes to ${many(said.length)} of ${many(report.cells.length)} possible facts.”`);
    put("truth", `One of them may be true; every fact gets a yes by chance, so that nobody can tell which. The first: ${words(said[0] ?? 0)}.`);
  }
  if (chances) showLives(chances);
  put(
    "bound",
    factor === null ? `Whatever two people did: the promise is ${promise.rho}-zCDP.`
    : `Whatever two people did, no bytes at all are more than ${(Math.ceil(100 * factor) / 100).toLocaleString("en")} times as likely from one as from the other (epsilon ${promise.epsilon}${promise.delta ? `, but for a chance of ${promise.delta}` : ""}). Somebody who thought it as likely as not that you did something is at most ${(Math.ceil((1000 * factor) / (1 + factor)) / 10).toFixed(1)} % sure of it afterwards.`,
  );
}

/** Whether a category in a row is true of this visit; null if the visit is not known any more. */
function own(at, row) {
  if (life?.actions.length !== contract.spec.horizon) return null;
  const { question } = contract.design;
  const drawn = question.rows > 1 ? [row] : life.actions.keys();
  return [...drawn].some((one) => category(question, life, life.rewards, one) === at);
}

function showLives(chances) {
  const { states, horizon } = contract.spec;
  const { drifting, swimming } = lives(states, horizon);
  const rows = [["Somebody who only drifted", chances.of(drifting), ""], ["Somebody who swam straight up and stayed", chances.of(swimming), ""], ["The least likely life there is", chances.least, ""]];
  const known = life?.actions.length === horizon;
  if (known) rows.unshift(["You", chances.of(life), " mine"]);
  const most = Math.max(...rows.map(([, chance]) => chance));
  const base = known ? rows[0][1] : most;
  const made = rows.map(([name, chance, mine], number) => {
    const row = document.createElement("div");
    row.className = "bar";
    const [text, value, track, fill] = ["span", "span", "span", "span"].map((kind) => document.createElement(kind));
    text.textContent = name;
    const odds = chance > Math.log(1e-6) ? `1 in ${many(Math.round(Math.exp(-chance)))}` : "";
    const ratio = known && number === 0 ? "" : `${+Math.exp(chance - base).toPrecision(2)} × ${known ? "yours" : "the likeliest"}`;
    value.textContent = [odds, ratio].filter(Boolean).join(", ");
    track.className = "track";
    fill.className = `fill${mine}`;
    fill.style.width = `${Math.max(100 * Math.exp(chance - most), 1)}%`;
    track.append(fill);
    row.append(text, value, track);
    return row;
  });
  $("lives").replaceChildren(...made);
}

$("drift").addEventListener("click", () => stroke(DRIFT));
$("swim").addEventListener("click", () => stroke(SWIM));
$("follow").addEventListener("click", () => {
  while (life.actions.length < contract.spec.horizon) stroke(advised);
});
$("send").addEventListener("click", () => {
  if (!waiting) return;
  approved.add(hex(waiting.body));
  put("sent", "Sending…");
  $("sent").className = "";
  waiting.go();
  waiting = null;
});
$("again").addEventListener("click", () => {
  put("nothing", "So far, nothing about this person. The page has asked for the contract, the round and the policy of the day: the same bytes for everybody.");
  put("sent", "");
  approved.clear();
  join(memoryStorage()); // somebody else, with a device of their own
});
addEventListener("keydown", ({ key, target }) => {
  if (target instanceof HTMLElement && target.closest("#bytes, input")) return;
  if (key === "ArrowLeft" && !$("drift").disabled) stroke(DRIFT);
  if (key === "ArrowRight" && !$("swim").disabled) stroke(SWIM);
});

/** One simulated person, who follows the policy; whether the report was counted. */
async function visitor(held) {
  let counted = false;
  const asking = (url, init) => {
    if (!/contract$|policies/.test(url)) return fetch(url, init);
    held[url] ??= fetch(url, init);
    return held[url].then((answer) => answer.clone());
  };
  const one = await Device.join(location.origin, { storage: memoryStorage(), fetch: asking, onevent: ({ type }) => (counted ||= type === "counted") });
  const visit = await one.begin();
  if (!one.contract) return false;
  let at = 0;
  for (let number = 0; number < one.contract.spec.horizon; number++) {
    const { reward, next } = step(one.contract.spec.states, at, visit.act(at));
    visit.observe(reward, next);
    at = next;
  }
  await visit.finish();
  return counted;
}

$("crowd").addEventListener("click", async () => {
  const [button, bar] = [$("crowd"), $("crowd-progress")];
  button.disabled = true;
  bar.hidden = false;
  put("crowd-result", "");
  let [done, counted] = [0, 0];
  const held = {};
  const come = async () => {
    while (done < CROWD) {
      bar.value = ++done;
      const one = await visitor(held);
      counted += one;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, come));
  bar.hidden = true;
  button.disabled = false;
  put("crowd-result", `${counted} of ${CROWD} were counted.${counted < CROWD ? " The service may have ended." : ""}`);
});

async function certificate() {
  const answer = await fetch("/dashboard/story.json");
  const { promise } = await answer.json();
  const lines = [
    promise.sentence,
    `Your device randomises the report before it leaves, with noise from this browser's own secure randomness.`,
    `You send one report, ever, to whoever runs this service. Later visits follow the policy and send nothing.`,
    `An even guess about anything you did becomes at most ${promise.sure} % sure (${promise.formal}).`,
    `Whoever sends is not checked: one person with ten browsers counts as ten, each of which moves the result by no more than an honest one.`,
  ];
  $("words").replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}

let stream = null;
function listen() {
  stream?.close();
  stream = document.hidden ? null : new EventSource("/dashboard/events");
  if (stream) stream.onmessage = ({ data }) => put("count", many(JSON.parse(data).people));
}
document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => stream?.close());
listen();
certificate().catch(() => {});
join();
