/** The policy as a picture: a table of states and steps, or, where that would be too large, a canvas. */

const MOST_CELLS = 1500;
export const COLOURS = 8;

/** Short words that tell actions apart: themselves, or as many characters as are needed, or numbers. */
export function codes(labels) {
  if (labels.every((label) => label.length <= 3)) return labels;
  for (let size = 1; size <= 3; size++) {
    const found = labels.map((label) => label.slice(0, size));
    if (new Set(found.map((one) => one.toLowerCase())).size === labels.length) return found;
  }
  return labels.map((_, at) => String(at));
}

const best = (chances) => {
  const top = Math.max(...chances);
  return top > 0.99 ? chances.indexOf(top) : null;
};

function cell(chances, names, labels) {
  const made = document.createElement("td");
  const action = best(chances);
  made.className = action === null ? "mixed" : `a${action % COLOURS}`;
  made.textContent = action === null ? "±" : names[action];
  made.title = action === null ? chances.map((one, at) => `${labels[at]} ${(100 * one).toFixed(0)} %`).join(", ") : labels[action];
  return made;
}

/** How many of all cells two policies differ in. */
export function changes(now, before, { states, horizon }) {
  let many = 0;
  for (let step = 0; step < horizon; step++) for (let state = 0; state < states; state++) many += differs(now(step, state), before(step, state));
  return many;
}

const differs = (first, second) => first.some((one, at) => Math.abs(one - second[at]) > 1e-9);

export function drawLegend(list, labels, mixed) {
  const names = codes(labels);
  const items = labels.slice(0, 24).map((label, at) => item(names[at], `a${at % COLOURS}`, label));
  if (labels.length > 24) items.push(item("…", "a7", `and ${labels.length - 24} more`));
  if (mixed) items.push(item("±", "mixed", "left to chance"));
  list.replaceChildren(...items, item("", "moved", "changed since the round before"));
}

function item(code, style, text) {
  const made = document.createElement("li");
  const key = document.createElement("span");
  key.className = `key ${style}`;
  key.textContent = code;
  key.setAttribute("aria-hidden", "true");
  made.append(key, code && code !== text && code.length < 4 && style !== "mixed" ? `${text}` : text);
  return made;
}

export function drawPolicy(box, policy, before, spec, labels) {
  if (spec.states * spec.horizon > MOST_CELLS) return drawLarge(box, policy, spec, labels);
  const names = codes(labels.actions);
  const table = document.createElement("table");
  table.className = "cells";
  table.createCaption().className = "hidden";
  table.caption.textContent = "What to do in each state, row by row, at each step, column by column";
  const head = table.createTHead().insertRow();
  head.append(heading("col", "step"));
  for (let step = 0; step < spec.horizon; step++) head.append(heading("col", String(step + 1)));
  const body = table.createTBody();
  for (let state = 0; state < spec.states; state++) {
    const row = body.insertRow();
    row.append(heading("row", labels.states[state]));
    for (let step = 0; step < spec.horizon; step++) {
      const made = cell(policy(step, state), names, labels.actions);
      if (before && differs(policy(step, state), before(step, state))) {
        made.classList.add("moved");
        made.title += " (changed)";
      }
      row.append(made);
    }
  }
  const kept = box.scrollLeft;
  box.replaceChildren(table);
  box.scrollLeft = kept;
  return true;
}

function heading(scope, text) {
  const made = document.createElement("th");
  made.scope = scope;
  made.textContent = text;
  return made;
}

/** One pixel a cell, states across; the browser scales it. */
function drawLarge(box, policy, { states, horizon, actions }, labels) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [states, horizon];
  const paint = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const colours = Array.from({ length: COLOURS }, (_, at) => style.getPropertyValue(`--a${at}`));
  const counts = new Array(actions).fill(0);
  for (let step = 0; step < horizon; step++) {
    for (let state = 0; state < states; state++) {
      const action = best(policy(step, state));
      if (action !== null) counts[action]++;
      paint.fillStyle = action === null ? "#5a5f6b" : colours[action % COLOURS];
      paint.fillRect(state, step, 1, 1);
    }
  }
  const first = counts.indexOf(Math.max(...counts));
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${states} states across, ${horizon} steps down; most often: ${labels.actions[first]}.`);
  canvas.style.height = `${Math.max(8 * horizon, 120)}px`;
  box.replaceChildren(canvas);
  return false;
}
