/** Asked pairs, where one device in a public number reports its return instead, by one randomised bit: confide/protocol/kinds/asked_return.py. */

import { mechanism } from "./mechanism.js";
import { admit, answer, ask, require } from "./question.js";
import { below, chance, rare } from "./random.js";

const sumOf = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

/** The statistic and its noise; the last row is that of the return, whose bit is as private as a category is. */
export function readKind({ spec, question: asked, mechanism: noise }) {
  const { one_in: many } = asked;
  require(Number.isInteger(many) && many > 1 && many <= 2 ** 16, "The contract asks for returns by no share of people. Update it.");
  const about = ask(spec, { ...asked, kind: "asked" });
  const made = mechanism(about, noise);
  const { rows: pairs } = about;
  const question = {
    ...about,
    rows: pairs + 1,
    pairs,
    slices: [{ start: 0, end: about.width }],
    law: [...Array(pairs).fill(many - 1), pairs],
    lawful: (law, total) => law[pairs] * many === total,
    answer: (put, lived) => told(put, lived, pairs),
  };
  return { question, mechanism: { ...made, randomise: (cells, row) => (row === pairs ? flip(cells, noise.epsilon) : made.randomise(cells)) } };
}

/** {row, cells}: about a pair or the return, as the law alone says. Of the return the bit, zero or one, has a one. */
function told(question, lived, pairs) {
  const { law } = question;
  if (below(sumOf(law)) >= law[pairs]) return answer({ ...question, law: law.slice(0, pairs) }, lived);
  admit(question, lived);
  const cells = new Float64Array(question.width);
  cells[+chance(returnOf(question, lived) / question.horizon)] = 1;
  return { row: pairs, cells };
}

/** What an episode paid, or cost. */
export function returnOf({ objective, horizon }, { rewards }) {
  const paid = sumOf(rewards);
  return Math.min(objective === "cost" ? rewards.length - paid : paid, horizon);
}

/** Randomised response: the other bit with probability 1/(e^epsilon + 1). */
function flip(cells, epsilon) {
  const bit = +(cells[1] === 1) ^ rare(epsilon);
  cells.fill(0)[bit] = 1;
  return cells;
}
