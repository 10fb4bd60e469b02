/** What leaves the page: the exact bytes, what they say, and who else would have sent them. */

import { hex } from "./device/src/contract.js";
import { category } from "./device/src/question.js";
import { unpack } from "./device/extra/reading.js";
import { fact, likelihood, pair } from "./device/extra/likelihood.js";
import { DRIFT, lives, SWIM } from "./game.js";

export const $ = (id) => document.getElementById(id);
export const put = (id, text) => ($(id).textContent = text);
export const many = (value) => value.toLocaleString("en");
const made = (kind, text) => Object.assign(document.createElement(kind), { textContent: text });

const LETTER = [
  [4, "what this is: a report, ready to send"],
  [20, "a random number, drawn for this report only"],
  [52, "the contract it was written under"],
  [56, "the round whose policy was followed"],
];
const TICKET = [
  [4, "what this is: a ticket"],
  [36, "the contract it was issued under"],
  [40, "the batch"],
  [44, "the place in it, in order of arrival"],
  [48, "the round whose policy is followed"],
  [64, "the seal of the issuer"],
];
const REPORT = [
  [4, "what this is: a report"],
  [38, "how it was randomised, and which statistic it is of"],
  [42, "what it is about, drawn whatever happened"],
];
const EPISODE = [[4, "what this is: an episode"]];
const SEALED = [
  [68, "that the rest is sealed"],
  [76, "when it may be opened, drawn before the visit began"],
  [80, "how often it was made anew, as the visit went on"],
  [112, "half of a key, made for this upload only"],
];
const TOKEN_BYTES = 288;

/** A label of the contract's, or a word for one that was only counted. */
const worded = (label, word) => (/^[sa]\d+$/.test(label) ? word : label);
export function placed(contract, at) {
  return worded(contract.labels.states[at], at === 0 ? "the bank" : at === contract.spec.states - 1 ? "the spring" : `pool ${at}`);
}
export const acted = (contract, action) => worded(contract.labels.actions[action], action === SWIM ? "swim" : action === DRIFT ? "drift" : `do ${action}`);

/** The parts of an upload, each [where it ends, what it is]; then where what is about a person ends. */
function partsOf(contract, body) {
  if (contract.intermediary?.sealing) return [[...TICKET, ...SEALED], body.length];
  const ticketed = contract.trust !== "local";
  const front = ticketed ? TICKET : LETTER;
  const inside = contract.trust === "joint" ? EPISODE : REPORT;
  const parts = [...front, ...inside.map(([end, words]) => [front.at(-1)[0] + end, words])];
  const end = body.length - (!ticketed && contract.issuer ? TOKEN_BYTES : 0);
  if (end < body.length) parts.push([body.length, "a token of the issuer, signed blindly: it says that you take part once, and not who you are"]);
  return [parts, end];
}

/**
 * Shows a report, with a token where the contract names an issuer, or a submission. life: the visit it is about, and inside: the
 * upload before it was sealed, if these are known.
 */
export function showBytes(contract, body, life, inside) {
  const [parts, end] = partsOf(contract, body);
  const answer = parts.findLast(([until]) => until <= end)[0];
  const sealed = contract.intermediary?.sealing;
  $("letter").hidden = false;
  $("nothing").hidden = true;
  const reader = sealed ? `, sealed so that only the ${contract.intermediary.role} can read them, at the time that was drawn` : "";
  put("bytes-note", `${many(body.length)} bytes${life ? "" : ", kept from an earlier visit and not acknowledged yet"}. Only the marked ones are about ${life ? "you" : "a person"}${reader}.`);
  const spaced = (from, to) => hex(body.slice(from, to)).replace(/../g, "$& ");
  $("bytes").replaceChildren(spaced(0, answer), made("mark", spaced(answer, end).trim()), ` ${spaced(end)}`);
  $("parts").replaceChildren(...parts.flatMap(([until, words], at) => [made("dt", words), made("dd", spaced(until > end ? end : at ? parts[at - 1][0] : 0, until))]));
  $("bytes").dataset.hex = hex(body);
  const shuffled = contract.trust === "shuffle";
  put("fact-title", shuffled ? "What is in them" : "The one fact in them");
  put("lives-title", `Who else would have sent ${shuffled ? "the shuffler " : ""}the same bytes?`);
  showContent(contract, sealed ? inside : body, end, life);
  showBound(contract);
}

/** What an upload says before it is sealed. */
function showContent(contract, upload, end, life) {
  const start = (contract.trust === "local" ? LETTER : TICKET).at(-1)[0];
  if (!upload) put("fact", "It was sealed in an earlier visit, and this page cannot open it.");
  else if (contract.trust === "joint") showEpisode(contract, upload.slice(start));
  else showReport(contract, unpack(contract.design, upload.slice(start, contract.intermediary?.sealing ? upload.length : end)), life);
}

/** A curator sees everything. */
function showEpisode(contract, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const { horizon } = contract.spec;
  const [steps, known] = [view.getUint32(4, true), view.getUint32(8, true)];
  const state = (at) => placed(contract, view.getUint32(12 + 4 * at, true));
  const words = Array.from({ length: steps }, (_, at) => {
    const coin = view.getFloat64(16 + 8 * (horizon + at), true) > 0 ? " (a coin)" : "";
    return `${state(at)}: ${acted(contract, view.getUint32(16 + 4 * (horizon + at), true))}${coin}`;
  });
  const end = known ? `${words.length ? ", then " : ""}${state(steps)}` : "";
  put("fact-title", "What is in them: everything, for one reader");
  put("fact", steps ? `“${words.join(", ")}${end}.”` : "“Nothing yet.”");
  put("truth", `The curator, run by ${contract.intermediary.operator}, is trusted with it: it adds the visits of a batch up in memory, and forgets them. The bytes are as many however long a visit was.`);
  $("lives").replaceChildren(made("p", "It does not matter: they are read by the curator alone. What hides you is the noise in what it gives out about a whole batch."));
}

function inWords(contract, told, asked) {
  if (asked && !told) return "I was never there to do that";
  const coin = told?.rewarded ? "with a coin" : "without a coin";
  const at = (next) => (next === null ? "the visit ended" : null);
  if (asked) return `the first time, ${at(told.next) ?? `it took me to ${placed(contract, told.next)}`}, ${coin}`;
  if (!told) return "that a stroke was not taken";
  return `at ${placed(contract, told.state)}: ${acted(contract, told.action)}, then ${at(told.next) ?? `at ${placed(contract, told.next)}`}, ${coin}`;
}

function showReport(contract, report, life) {
  const { design, spec } = contract;
  const said = Array.from(report.cells.keys()).filter((at) => report.cells[at] === 1);
  const asked = design.question.kind === "asked" && pair(design, report.row);
  const stroke = spec.model === "per-step" ? ` at stroke ${1 + Math.floor((report.row * spec.horizon) / (design.question.pairs ?? design.question.rows))}` : "";
  const about = asked ? `What comes of ${acted(contract, asked.action)} at ${placed(contract, asked.state)}${stroke}` : "At one stroke, drawn at random";
  const words = (at) => inWords(contract, fact(design, at, report.row), asked);
  const chances = likelihood(contract, report);
  put("truth", "");
  $("lives").replaceChildren();
  if (design.question.kind === "counts") {
    const [flip] = contract.mechanism.crowds?.[0] ?? [];
    const all = `${many(report.cells.length)} numbers`;
    put("fact", flip ? `${all}: how many bits of each count are one, after each was flipped with a chance of ${(100 * flip).toFixed(1)} %.` : `${all}, each with noise added that is larger than anything one person could do to it.`);
  } else if (report.row === design.question.pairs) {
    const kept = 1 / (1 + Math.exp(-contract.mechanism.epsilon));
    put("fact", `“Of all the coins that a visit can bring, one drawn at random ${said[0] ? "was" : "was not"} mine.”`);
    put("truth", `The device was drawn to report how many coins you got, by one bit: it tells the truth with chance ${(100 * kept).toFixed(0)} %, and otherwise the opposite.`);
  } else if (design.mechanism.packing === "index") {
    const mine = life && own(contract, said[0], report.row, life);
    const hit = 1 / (1 + (design.question.width - 1) * Math.exp(-contract.mechanism.epsilon));
    put("fact", asked ? `“${about}: ${words(said[0])}.”` : `“${about}, I was ${words(said[0])}.”`);
    put(
      "truth",
      `The device tells the truth with chance ${(100 * hit).toFixed(0)} %, and otherwise one of ${many(design.question.width - 1)} other facts, all alike. ` +
        (life ? `Of your visit it ${mine ? "happens to be" : "is not"} true; only you know.` : ""),
    );
  } else {
    put("fact", `“${about}: yes to ${many(said.length)} of ${many(report.cells.length)} possible facts.”`);
    put("truth", `One of them may be true; every fact gets a yes by chance, so that it cannot be known which. The first: ${words(said[0] ?? 0)}.`);
  }
  if (chances) showLives(contract.spec, chances, life);
}

const times = (epsilon) => (Math.ceil(100 * Math.exp(epsilon)) / 100).toLocaleString("en", { maximumSignificantDigits: epsilon > 7 ? 2 : 21 });

function showBound(contract) {
  const { guarantee, trust, design } = contract;
  const odds = guarantee.epsilon === null ? 1 : Math.exp(guarantee.epsilon);
  const sure = (Math.ceil((1000 * odds) / (1 + odds)) / 10).toFixed(1);
  const what = trust === "local" ? "no bytes at all are" : "nothing that is ever published is";
  const alone = trust === "shuffle" ? ` The shuffler itself, run by ${contract.intermediary.operator}, forgets every report; if it kept yours, that would be ${times(design.mechanism.loss.epsilon)} times.` : "";
  put(
    "bound",
    guarantee.epsilon === null ? `Whatever two people did: the promise is ${guarantee.rho}-zCDP.`
    : `Whatever two people did, ${what} more than ${times(guarantee.epsilon)} times as likely from one as from the other (epsilon ${guarantee.epsilon}${guarantee.delta ? `, but for a chance of ${guarantee.delta}` : ""}). An observer who thought it as likely as not that you did something is at most ${sure} % sure of it afterwards.${alone}`,
  );
}

/** Whether a category in a row is true of this visit. */
function own({ design: { question } }, at, row, life) {
  const drawn = question.rows > 1 ? [row] : life.actions.keys();
  return [...drawn].some((one) => category(question, life, life.rewards, one) === at);
}

function showLives({ states, horizon }, chances, life) {
  const { drifting, swimming } = lives(states, horizon);
  const rows = [["A user who only drifted", chances.of(drifting), ""], ["A user who swam straight up and stayed", chances.of(swimming), ""]];
  if (chances.least !== null) rows.push(["The least likely life there is", chances.least, ""]);
  if (life) rows.unshift(["You", chances.of(life), " mine"]);
  const most = Math.max(...rows.map(([, chance]) => chance));
  const base = life ? rows[0][1] : most;
  const shown = rows.map(([name, chance, mine], number) => {
    const odds = chance > Math.log(1e-6) ? `1 in ${many(Math.round(Math.exp(-chance)))}` : "";
    const ratio = life && number === 0 ? "" : `${+Math.exp(chance - base).toPrecision(2)} × ${life ? "yours" : "the likeliest"}`;
    const [row, track, fill] = [made("div", ""), made("span", ""), made("span", "")];
    row.className = "bar";
    track.className = "track";
    fill.className = `fill${mine}`;
    fill.style.width = `${Math.max(100 * Math.exp(chance - most), 1)}%`;
    track.append(fill);
    row.append(made("span", name), made("span", [odds, ratio].filter(Boolean).join(", ")), track);
    return row;
  });
  $("lives").replaceChildren(...shown);
}
