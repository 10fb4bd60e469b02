/** Two charts as SVG, drawn at the width they have, with a title and a description for those who hear them. */

const SVG = "http://www.w3.org/2000/svg";
const EDGE = { top: 18, right: 14, bottom: 34, left: 46 };

export function node(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const short = (value) =>
  value >= 1e6 ? `${+(value / 1e6).toPrecision(3)} M` : value >= 1e4 ? `${+(value / 1e3).toPrecision(3)} k` : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });

/** Round numbers that cut [low, high] into some four parts. */
function ticks(low, high) {
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(+at.toPrecision(12));
  return found;
}

/** Powers of ten between two numbers; where there are few, their doubles and fivefolds too. */
function decades(low, high) {
  const fine = Math.log10(high / low) < 2.2 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) found.push(...fine.map((one) => +(one * 10 ** power).toPrecision(2)));
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

/** A frame with axes: {svg, x, y} where x and y place a number. */
function frame(box, { title, description, across, down, xLabel, yLabel, log = false, yText = short, height = 250 }) {
  const width = Math.max(box.clientWidth, 240);
  const [left, right] = [EDGE.left, width - EDGE.right];
  const [top, bottom] = [EDGE.top, height - EDGE.bottom];
  const x = (value) => left + ((right - left) * (value - across[0])) / (across[1] - across[0] || 1);
  const scale = log ? Math.log10 : (value) => value;
  const y = (value) => bottom - ((bottom - top) * (scale(value) - scale(down[0]))) / (scale(down[1]) - scale(down[0]) || 1);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${title}. ${description}` });
  for (const value of log ? decades(...down) : ticks(...down)) {
    svg.append(node("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }));
    svg.append(node("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, yText(value)));
  }
  const marks = ticks(...across).filter((value, at, all) => width > 420 || all.length < 6 || at % 2 === 0);
  for (const value of marks) svg.append(node("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, short(value)));
  svg.append(node("text", { x: right, y: height - 2, "text-anchor": "end" }, xLabel), node("text", { x: left, y: 8, "text-anchor": "start" }, yLabel));
  box.replaceChildren(svg);
  return { svg, x, y };
}

const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** The mean return of each round with its interval; where not everything is counted there is no value in it. rounds: [{round, mean_return: {value, low, high, whole}}]. */
export function drawReturns(box, rounds, horizon, users, label) {
  const most = Math.max(...rounds.map(({ mean_return: found }) => found.high));
  const top = Math.min(horizon, most * 1.08 || 1);
  const last = rounds.at(-1).mean_return;
  const { svg, x, y } = frame(box, {
    title: "The return of a visit",
    description: `In round ${rounds.at(-1).round}: ${last.whole ? `${last.value.toFixed(2)}, ` : ""}between ${last.low.toFixed(2)} and ${last.high.toFixed(2)}.`,
    across: [0, users], down: [0, top], xLabel: "people so far", yLabel: label,
  });
  const clip = (value) => Math.min(Math.max(value, 0), top);
  const places = rounds.map(({ people, from }) => x((people + from) / 2));
  const upper = rounds.map(({ mean_return: found }, at) => [places[at], y(clip(found.high))]);
  const lower = rounds.map(({ mean_return: found }, at) => [places[at], y(clip(found.low))]);
  if (rounds.length > 1) svg.append(node("path", { class: "band", d: path([...upper, ...lower.reverse()]) + "Z" }));
  if (rounds.length <= 40) rounds.forEach(({ mean_return: found }, at) => svg.append(node("line", { class: "whisker", x1: places[at], x2: places[at], y1: y(clip(found.low)), y2: y(clip(found.high)) })));
  if (last.whole) svg.append(node("path", { class: "line", d: path(rounds.map(({ mean_return: found }, at) => [places[at], y(clip(found.value))])) }));
  rounds.forEach(({ round, mean_return: found }, at) => {
    if (rounds.length > 60 && at < rounds.length - 1) return;
    const ends = `${found.low.toFixed(2)} to ${found.high.toFixed(2)}`;
    const value = found.whole ? node("circle", { class: "point", cx: places[at], cy: y(clip(found.value)), r: 4.5 }) : node("rect", { class: "range", x: places[at] - 5, y: y(clip(found.high)), width: 10, height: Math.max(y(clip(found.low)) - y(clip(found.high)), 2), rx: 3 });
    value.append(node("title", {}, `Round ${round}: ${found.whole ? `${found.value.toFixed(2)} (${ends})` : ends}`));
    svg.append(value);
  });
}

/** Error of the average count as people come; where it passes 1 it exceeds the noise. */
export function drawErrors(box, { people, error, needed }, now) {
  const low = Math.min(...error, 0.5);
  const high = Math.max(...error, 2);
  const { svg, x, y } = frame(box, {
    title: "Typical error of the average count, as a share of it",
    description: needed ? `It falls to one after ${needed.toLocaleString("en")} people.` : "There is no noise.",
    across: [0, people.at(-1)], down: [low, high], xLabel: "people", yLabel: "error ÷ count", log: true,
    yText: (value) => (value >= 1 ? `×${short(value)}` : `${+(value * 100).toPrecision(2)} %`),
  });
  const points = people.map((many, at) => [x(many), y(error[at])]);
  const done = points.filter((_, at) => people[at] <= now);
  if (done.length) svg.append(node("path", { class: "line", d: path(done) }));
  svg.append(node("path", { class: "rest", d: path(points.slice(Math.max(done.length - 1, 0))) }));
  if (needed && needed <= people.at(-1)) {
    const left = x(needed) > (x(0) + x(people.at(-1))) / 2;
    svg.append(node("line", { class: "mark", x1: x(needed), x2: x(needed), y1: y(high), y2: y(low) }));
    svg.append(node("text", { class: "mark-text", x: x(needed) + (left ? -8 : 8), y: y(high) + 10, "text-anchor": left ? "end" : "start" }, `usable from ${short(needed)}`));
  }
  if (done.length) {
    const [cx, cy] = done.at(-1);
    svg.append(node("circle", { class: "point", cx, cy, r: 5 }, node("title", {}, "now")));
  }
}
