/** What is accepted: mechanisms by trust and kind of question. `python -m tools.accepted` writes it. */

export const ACCEPTED = {"local":{"counts":["laplace","gaussian","randomised-response"],"step":["unary","k-ary","subset"],"asked":["unary","k-ary","subset"]},"shuffle":{"bits":["shuffled-bits"],"step":["shuffled-step"],"bandit":["skellam"],"budgeted":["skellam"]},"joint":{"counts":["tree-laplace","tree-gaussian","toeplitz","buffered-toeplitz"],"bandit":["tree-laplace","tree-gaussian","toeplitz","buffered-toeplitz"],"budgeted":["tree-gaussian","toeplitz","buffered-toeplitz"]}};
