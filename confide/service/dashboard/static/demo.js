/** The game, and beside it what leaves the page: every request of the device passes a gate that shows it. */

import { Device, memoryStorage } from "./device/src/index.js";
import { hex } from "./device/src/contract.js";
import { node } from "./charts.js";
import { DRIFT, step, SWIM } from "./game.js";
import { $, acted, many, placed, put, showBytes } from "./leaves.js";

const CROWD = 100;
const ALONE = "What you do is seen by this page alone.";
const NOTHING = $("nothing").textContent;

let device = null;
let episode = null;
let contract = null;
let person = 0; // who plays: what the devices of those before say is heard no more
let place = 0;
let advised = DRIFT;
let life = null;
let shown = null; // the bytes that are shown, in hex
let arrived = () => {}; // is called when a submission comes to the gate
let waiting = null; // the submission that waits for a press: {body, go}
const approved = new Set(); // submissions that the person has sent once: the same bytes may go again by themselves
const opened = new Map(); // what is in sealed uploads, by their bytes in hex: only who sealed them knows
const ticketed = () => contract?.trust !== "local";

/**
 * All that leaves this page goes through here. A submission waits until a user presses send; what is fetched is the same for all.
 * Where tickets are taken, no user chooses when a report leaves: it is shown, and goes.
 */
function gate(url, init) {
  if (init?.method !== "POST") return fetch(url, init);
  const send = () => fetch(url, { ...init, signal: AbortSignal.timeout(10000) });
  if (url.endsWith("/v1/tokens")) return send();
  if (url.endsWith("/v1/tickets")) {
    office = url.slice(0, -"/v1/tickets".length);
    return send();
  }
  if (!init.headers["content-type"].endsWith(".report")) {
    approved.add(hex(init.body));
    showLetter(init.body);
    put("sent", "Handing over…");
    return send();
  }
  if (approved.has(hex(init.body))) return send();
  return new Promise((done) => {
    waiting = { body: init.body, go: () => done(send()) };
    arrived();
    showLetter(init.body);
  });
}

const SAID = {
  counted: () => `✓ Counted. ${ticketed() ? "Its batch is closed, and it is one of many now." : "It is one of many now."}`,
  taken: () => `✓ The ${contract.intermediary.role} has it, and adds it up with others. Your device keeps the same bytes until the batch is closed.`,
  dropped: () => "The service takes no more reports. It was dropped.",
  offline: () => "The service does not respond. The same bytes are kept, and sent again by themselves.",
};

function heard({ type, message }) {
  if (type === "refused" || type === "full") {
    put("alert", message);
    $("alert").hidden = false;
  } else if (SAID[type] && (type !== "offline" || approved.size)) {
    put("sent", SAID[type]());
    $("sent").className = type === "counted" || type === "taken" ? "ok" : "";
    if (type !== "offline") finished();
    if (type === "taken") watchBatch();
    if (type === "counted") put("departure", "");
  }
}

function finished() {
  $("send").disabled = true;
  $("again-box").hidden = false;
}

/** What a user who tries the game shows the issuer of tokens: a new name. */
const guest = () => `guest-${crypto.randomUUID()}`;

async function join(storage) {
  const mine = ++person;
  const onevent = (event) => mine === person && heard(event);
  device = await Device.join(location.origin, { fetch: gate, onevent, credential: guest(), ...(storage && { storage }) });
  contract = device.contract;
  if (!contract) {
    put("clock", "");
    put("advice", "This device takes no part.");
    put("alert", device.refusal ?? "The service cannot be reached. Try again in a moment.");
    $("alert").hidden = false;
    return;
  }
  contract.onseal = (inside, body) => opened.set(hex(body), inside);
  put("name", contract.name);
  put("steps", String(contract.spec.horizon));
  put("drift-label", acted(contract, DRIFT));
  put("swim-label", acted(contract, SWIM));
  if (ticketed()) return invite();
  // A report of an earlier visit goes first.
  await Promise.race([device.flush(), new Promise((done) => (arrived = done))]);
  if (!waiting) await play();
}

/** Where tickets are taken, time runs from the beginning: it begins when the user wants to. */
function invite() {
  place = 0;
  drawRiver();
  const { seconds } = contract.window;
  put("clock", "");
  put("advice", `When you begin, your device takes a ticket for a batch of people, and draws the moment at which it will report, within ${seconds} second${seconds === 1 ? "" : "s"}, whatever you do until then.`);
  put("story", contract.trust === "joint" ? "What you do is seen by this page, and, once the report leaves, by the curator who is trusted with it." : ALONE);
  for (const id of ["choices", "play-row"]) $(id).hidden = true;
  $("start-box").hidden = false;
}

async function play() {
  const mine = person;
  episode = await device.begin();
  place = 0;
  life = { states: [0], actions: [], rewards: [] };
  shown = null;
  put("coins", "0 coins");
  if (!ticketed()) put("story", ALONE);
  $("letter").hidden = true;
  $("nothing").hidden = false;
  $("again-box").hidden = true;
  if (episode.due) {
    put("nothing", "So far, nothing about you. The page has fetched the contract, the round, the policy of the day and a ticket: what every user gets.");
    countDown(mine);
  }
  turn();
}

/** What becomes of a visit whose page is closed before its time. */
function closing() {
  const { role, sealing } = contract.intermediary;
  return sealing ? ` If you close this page before, what you have done is handed over at once, sealed: the ${role} opens it at that moment, not before.` : "";
}

function countDown(mine) {
  const left = (episode.due - performance.timeOrigin - performance.now()) / 1000;
  if (mine !== person) return;
  if (left > 0) {
    put("departure", `Your report leaves in ${left.toFixed(1)} s, at a moment drawn before you began: with what you have done by then.${closing()}`);
    setTimeout(countDown, 100, mine);
  } else put("departure", life.actions.length < contract.spec.horizon ? "Your report has left. What you do now is yours alone." : "");
}

/** What is public of the batch that was joined. */
let office = "";
async function watchBatch() {
  const mine = person;
  const batch = parseInt(shown.slice(72, 80).match(/../g).reverse().join(""), 16);
  while (mine === person) {
    const told = await fetch(`${office}/v1/batches/${batch}`, { credentials: "omit" }).then((answer) => answer.json(), () => null);
    if (told?.closing) return put("departure", `Batch ${batch} is closed.`);
    const { deadline } = contract.intermediary;
    if (told) put("departure", `Batch ${batch}: ${many(told.issued)} ticket${told.issued === 1 ? " is" : "s are"} issued. It closes ${many(deadline)} s after its last one${told.deadline ? ", which is soon" : ""}, however many came.`);
    await new Promise((done) => setTimeout(done, 1000));
  }
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
  said.textContent = acted(contract, advised);
  $("advice").replaceChildren(device.round > 1 ? "What those before you taught: " : "It has learned nothing yet. It says: ", said, ".");
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
  put("advice", ticketed() ? "Your device has drawn one report about it." : "Your device has drawn one report about it. Look at it before it leaves.");
  $("drift").classList.remove("advised");
  $("swim").classList.remove("advised");
  const body = await Promise.race([episode.finish(), new Promise((done) => setTimeout(done, 300, "waits"))]);
  if (body instanceof Uint8Array && ticketed()) showLetter(body);
  if (body !== null) return;
  put("nothing", device.refusal || !$("alert").hidden ? "Nothing. The visit was yours alone." : contract.again ? "Nothing: this person has sent as many reports as the contract lets them, or one too short a while ago. The visit was yours alone." : "Nothing: this person has sent a report before, and a device sends one, ever. The visit was yours alone.");
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
    svg.append(node("text", { class: "label", x: middle, y: 178 }, states > 7 && at % 2 ? "" : placed(contract, at)));
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
  $("river").setAttribute("aria-label", `You are at ${placed(contract, place)}, place ${place + 1} of ${states}. Coins are at ${placed(contract, states - 1)}.`);
}

function showLetter(body) {
  contract ??= device?.contract;
  if (!contract) return setTimeout(showLetter, 50, body); // it was kept from an earlier visit, and the device is just joining
  if (shown === hex(body)) return;
  shown = hex(body);
  $("send-row").hidden = false;
  $("send").hidden = ticketed();
  $("send").disabled = false;
  put("sent", "");
  const known = life && (ticketed() || life.actions.length === contract.spec.horizon);
  showBytes(contract, body, known ? structuredClone(life) : null, opened.get(shown));
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
$("start").addEventListener("click", async () => {
  for (const id of ["choices", "play-row"]) $(id).hidden = false;
  $("start-box").hidden = true;
  await play();
  $("swim").focus();
});
$("again").addEventListener("click", () => {
  put("nothing", NOTHING.replace("about you", "about this person"));
  put("sent", "");
  put("departure", "");
  $("letter").hidden = true;
  $("nothing").hidden = false;
  $("alert").hidden = true;
  approved.clear();
  join(memoryStorage()); // another user, with a device of their own
});
addEventListener("keydown", ({ key, target }) => {
  if (target instanceof HTMLElement && target.closest("#bytes, input")) return;
  if (key === "ArrowLeft" && !$("drift").disabled) stroke(DRIFT);
  if (key === "ArrowRight" && !$("swim").disabled) stroke(SWIM);
});

/** One simulated person, who follows the policy; whether the report was counted, or taken into a batch. */
async function visitor(held) {
  const asking = (url, init) => {
    if (!/contract$|policies|intermediary$/.test(url)) return fetch(url, init);
    held[url] ??= fetch(url, init);
    return held[url].then((answer) => answer.clone());
  };
  let told;
  const answered = new Promise((done) => (told = ({ type }) => type !== "offline" && done(type === "counted" || type === "taken")));
  const one = await Device.join(location.origin, { storage: memoryStorage(), credential: guest(), fetch: asking, onevent: (event) => told(event) });
  const visit = await one.begin();
  if (!one.contract) return false;
  let at = 0;
  for (let number = 0; number < one.contract.spec.horizon; number++) {
    const { reward, next } = step(one.contract.spec.states, at, visit.act(at));
    visit.observe(reward, next);
    at = next;
  }
  const body = await visit.finish();
  const patience = (visit.due ? visit.due - Date.now() : 0) + 20000;
  return body !== null && Promise.race([answered, new Promise((done) => setTimeout(done, patience, false))]);
}

$("crowd").addEventListener("click", async () => {
  const [button, bar] = [$("crowd"), $("crowd-progress")];
  button.disabled = true;
  bar.hidden = false;
  bar.value = 0;
  put("crowd-result", "");
  let [come, counted] = [0, 0];
  const held = {};
  const queue = async () => {
    while (come++ < CROWD) {
      const one = await visitor(held);
      counted += one;
      bar.value++;
    }
  };
  // Those who took a ticket wait for their moment, all at once.
  await Promise.all(Array.from({ length: ticketed() ? CROWD : 4 }, queue));
  bar.hidden = true;
  button.disabled = false;
  put("crowd-result", `${counted} of ${CROWD} were ${ticketed() ? "taken into a batch" : "counted"}.${counted < CROWD ? " There may be no more places." : ""}`);
});

const HOW = {
  local: "Your device randomises the report before it leaves, with noise from this browser's own secure randomness.",
  shuffle: "Your device randomises the report before it leaves, with noise from this browser's own secure randomness; a shuffler adds up a batch of them and forgets each.",
  joint: "Your device hands the visit to a curator, who is trusted with it: it gives out nothing but sums of whole batches, with noise that hides each person.",
};

async function certificate() {
  const [{ guarantee }, { trust }] = await Promise.all(["/dashboard/story.json", "/v1/contract"].map((path) => fetch(path).then((answer) => answer.json())));
  if (trust !== "local") put("count-label", "people in closed rounds");
  const lines = [
    guarantee.sentence,
    HOW[trust],
    `You send one report, ever, to the operator of this service. Later visits follow the policy and send nothing.`,
    `An even guess about anything you did becomes at most ${guarantee.sure} % sure. In the words of the field: ${guarantee.formal}.`,
    `Senders are not checked: one person with ten browsers counts as ten, each of which moves the result by no more than an honest one.`,
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
