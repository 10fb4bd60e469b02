/**
 * Writes dist/: what a page loads, in one piece, without comments; and what it loads besides where the contract takes tickets.
 * node build.mjs. Lines are joined where that changes nothing; no names are changed: two modules may not call different things by one name, which is checked here.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

export const PIECES = {
  "confide-device.js": ["random", "question", "mechanism", "accepted", "contract", "report", "wire", "storage", "episode", "device"],
  "confide-tickets.js": ["tickets"],
  "confide-shares.js": ["shares"],
  "confide-tokens.js": ["tokens"],
  "confide-features.js": ["features"],
  "confide-returns.js": ["returns"],
  "confide-sealed.js": ["sealed"],
  "confide-returning.js": ["returning"],
};
const TEXTS = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)/; // no pattern in src holds a quotation mark
const LICENCE = "// confide-device, Apache-2.0; written by build.mjs from src\n";

/** A module's text without comments, blank lines and indentation; and what it declares at its top. */
function read(name) {
  const text = readFileSync(new URL(`src/${name}.js`, import.meta.url), "utf-8");
  const plain = text.replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, "").replace(/^\s*\/\/ .*\n/gm, "").replace(/ \/\/ [^`\n]*$/gm, "");
  const declared = [...plain.matchAll(/^(?:export )?(?:async )?(?:function|class|const|let) (?:\[([^\]]+)\]|(\w+))/gm)].flatMap(([, several, one]) => one ?? several.split(", "));
  return { text: plain.replace(/^\s+/gm, ""), declared };
}

export function pieces() {
  const found = {};
  for (const [piece, names] of Object.entries(PIECES)) {
    const modules = names.map(read);
    const declared = modules.flatMap((one) => one.declared);
    const twice = declared.filter((one, at) => declared.indexOf(one) !== at);
    if (twice.length) throw new Error(`Two modules of ${piece} declare ${twice.join(", ")}. Rename one of them.`);
    let text = modules.map((one) => one.text).join("");
    const wanted = [...text.matchAll(/^import \{ (.*) \} from "\.\/(\w+)\.js";\n/gm)].filter(([, , from]) => !names.includes(from)).flatMap(([, what]) => what.split(", "));
    text = text.replace(/^import \{ .*\n/gm, "").replace(/\.\/(tickets|shares|tokens|features|returns|sealed|returning)\.js/g, "./confide-$1.js");
    text = text.replace(/([;{,(])\n/g, "$1"); // no statement ends in these, and no text holds a line's end
    text = text.split(TEXTS).map((part, at) => (at % 2 ? part : part.replace(/ ?(=>|[=!]==|&&|\|\||\?\?|[{}?:,]|(?<![=!<>])=(?!=)) ?/g, "$1").replace(/ ([<>]=?|\*\*?|%|>>>?=?|<<=?) /g, "$1").replace(/(?<![+-]) ([+-]) (?![+-])/g, "$1"))).join("");
    found[piece] = LICENCE + (wanted.length ? `import { ${wanted.join(", ")} } from "./confide-device.js";\n` : "") + text;
  }
  return found;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  mkdirSync(new URL("dist", import.meta.url), { recursive: true });
  for (const [name, text] of Object.entries(pieces())) writeFileSync(new URL(`dist/${name}`, import.meta.url), text);
}
