"""Mutants of samplers and of who draws with which: of devices in Python, of servers, and of pages in JavaScript."""

from __future__ import annotations

from .planted import LAWS, Mutant

SAMPLERS = "tests/mechanisms/test_drawn.py"
DRAWN = "tests/lab/audit/test_drawn.py"
PAGES = ("tests/js/test_laws.py::test_pages_draw_the_laws_that_are_priced",)
PLAIN, COMPILED, PAGE = "mechanisms/plain.py", "mechanisms/sampler.py", "js/src/random.js"
WIDER = "It hides more, not less."
SEEDED = "In one process seeded noise looks like any other."


def law(source: str, name: str) -> tuple[str, ...]:
    """The test of one law as one source draws it."""
    test = "test_noise_has_its_law_and_none_of_those_that_a_mistake_would_give_it"
    return (f"{SAMPLERS}::{test}[{source}-{name}-3.3]",)


def told(encoding: str) -> tuple[str, ...]:
    """The test of how often categories are named."""
    return (f"{SAMPLERS}::test_categories_are_told_as_often_as_they_should_be[{encoding}]",)


OF_DEVICES = (
    Mutant(
        "a device draws 0 twice as often",
        PLAIN,
        "        good = ~negative | (magnitude > 0)\n",
        "        good = np.ones(magnitude.size, dtype=np.bool_)\n",
        law("plain", "laplace"),
        ("discrete-laplace",),
    ),
    Mutant(
        "a device's noise ends after two scales",
        PLAIN,
        "MOST_SCALES = 255\n",
        "MOST_SCALES = 1\n",
        law("plain", "laplace"),
        ("discrete-laplace",),
    ),
    Mutant(
        "a device leaves out the last factor of the Gaussian's acceptance",
        PLAIN,
        "((quotient, 1, 1), (ones, 2, 2)):",
        "((quotient, 1, 1),):",
        law("plain", "gaussian"),
        ("discrete-gaussian",),
        samples=300_000,
    ),
    Mutant(
        "a device leaves out the first factor of the Gaussian's acceptance",
        PLAIN,
        "        accepted = bits.all_exp(quotient * quotient, ones, ones, 0, 2)\n",
        "        accepted = np.ones(y.size, dtype=np.bool_)\n",
        law("plain", "gaussian"),
        unseen=WIDER,
    ),
    Mutant(
        "a device's Gaussian is half as wide",
        PLAIN,
        "    t = p // q + 1\n    denominator",
        "    q = 2 * q\n    t = p // q + 1\n    denominator",
        law("plain", "gaussian"),
        ("local/gaussian",),
    ),
    Mutant(
        "a device's Laplace is half as wide",
        PLAIN,
        "        magnitude = (u[accepted] + p * v) // q\n",
        "        magnitude = (u[accepted] + p * v) // (2 * q)\n",
        law("plain", "laplace"),
        ("local/laplace",),
    ),
    Mutant(
        "a device's geometric part is off by one",
        PLAIN,
        "        v, growing = np.zeros(accepted.size, dtype=np.int64), np.arange(accepted.size)\n",
        "        v, growing = np.ones(accepted.size, dtype=np.int64), np.arange(accepted.size)\n",
        law("plain", "laplace"),
        ("discrete-laplace",),
    ),
    Mutant(
        "a device's sign is a biased coin",
        PLAIN,
        "        negative = bits.flips(accepted.size)\n",
        "        negative = bits.flips(accepted.size) & bits.flips(accepted.size)\n",
        law("plain", "laplace"),
        ("discrete-laplace",),
    ),
    Mutant(
        "a device's exponential chance forgets all but one of its factors",
        PLAIN,
        "        for done in range(int(times.max(initial=0))):\n",
        "        for done in range(min(1, int(times.max(initial=0)))):\n",
        (f"{SAMPLERS}::test_an_exponential_chance_of_a_device[x2]",),
        unseen=WIDER,
    ),
    Mutant(
        "a device's uniform numbers are words modulo their size",
        PLAIN,
        "        while (wrong := np.flatnonzero(out >= size)).size:\n"
        "            out[wrong] = self._words(wrong.size) & mask\n"
        "        return out.astype(np.int64)\n",
        "        return (out % np.uint64(size)).astype(np.int64)\n",
        (f"{SAMPLERS}::test_uniform_numbers_and_coins_of_a_device[3]",),
        ("local/laplace",),
    ),
    Mutant(
        "a device's coins are those of one word, again and again",
        PLAIN,
        "        raw = self._words(-(-count // 64)).view(np.uint8)\n",
        "        raw = np.repeat(self._words(1), -(-count // 64)).view(np.uint8)\n",
        (f"{SAMPLERS}::test_uniform_numbers_and_coins_of_a_device[3]",),
        unseen="Cells that share coins are 64 apart, further than those of one output of an audit.",
    ),
    Mutant(
        "k-ary response favours the truth",
        "mechanisms/unary.py",
        "        lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])\n",
        "        lying = bool(noise.lies(self.epsilon + 0.5, self.categories - 1, 1)[0])\n",
        told("k-ary"),
        ("local/k-ary",),
    ),
    Mutant(
        "a subset has one category more if the true one is in it",
        "mechanisms/unary.py",
        "            chosen = any_subset(self.categories - 1, size - named, noise)\n",
        "            chosen = any_subset(self.categories - 1, size, noise)\n",
        told("subset"),
        ("subset",),
    ),
    Mutant(
        "a subset's other categories are the next ones",
        "mechanisms/unary.py",
        "            return np.asarray(order[among - size :])\n",
        "            return np.asarray((int(order[0]) + np.arange(size)) % among)\n",
        (f"{SAMPLERS}::test_every_set_of_others_is_as_likely_as_any",),
        unseen="Which others are named is as likely for every truth.",
    ),
    Mutant(
        "one lie for all bits of a symmetric message",
        "mechanisms/unary.py",
        "            return bits ^ noise.lies(self.epsilon / 2, 1, self.categories)\n",
        "            return bits ^ noise.lies(self.epsilon / 2, 1, 1)\n",
        told("symmetric"),
        ("symmetric-unary",),
    ),
    Mutant(
        "the flip of a randomised bit is used again for the next cell",
        "mechanisms/randomized_response.py",
        "noise.lies(self.bit_epsilon, 1, bits.shape)",
        "noise.lies(self.bit_epsilon, 1, (bits.shape[0], 1))",
        (f"{SAMPLERS}::test_bits_are_flipped_each_by_itself",),
        ("local/randomised-response",),
    ),
    Mutant(
        "lies are drawn for twice the epsilon",
        "mechanisms/plain.py",
        "decimal.Decimal(epsilon).copy_negate()",
        "decimal.Decimal(2 * epsilon).copy_negate()",
        told("k-ary"),
        ("randomised-response", "local/unary"),
    ),
    Mutant(
        "a seed can be planted in what devices draw",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        return np.frombuffer(np.random.bytes(8 * count), dtype=np.uint64).copy()\n",
        (f"{DRAWN}::test_noise_comes_from_the_operating_system_alone[local-50]",),
        unseen=SEEDED,
    ),
    Mutant(
        "the time is mixed into what devices draw",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        import time\n\n"
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64) ^ np.uint64(time.time_ns())\n",
        (f"{DRAWN}::test_noise_comes_from_the_operating_system_alone[local-50]",),
        unseen="Mixing in what is known does no harm by itself.",
    ),
    Mutant(
        "a device draws replayable noise unless another is given",
        "mechanisms/noise.py",
        "    return noise or LightNoise()\n",
        "    return noise or ReplayableNoise(0)\n",
        (f"{DRAWN}::test_who_draws_under_which_trust",),
        unseen=SEEDED,
    ),
)

OF_SERVERS = (
    Mutant(
        "a server draws 0 twice as often",
        COMPILED,
        "        if magnitude > 0:\n            return -magnitude\n",
        "        return -magnitude\n",
        law("compiled", "laplace"),
        ("central/laplace",),
    ),
    Mutant(
        "a server's noise ends after two scales",
        COMPILED,
        "_MOST_SCALES = 255\n",
        "_MOST_SCALES = 1\n",
        law("compiled", "laplace"),
        ("tree-laplace",),
    ),
    Mutant(
        "a server leaves out the last factor of the Gaussian's acceptance",
        COMPILED,
        "            and _all_exp(words, cursor, 1, remainder, denominator, 2, 2)\n",
        "",
        law("compiled", "gaussian"),
        unseen="On the fine grids of curators it changes the loss by less than 300,000 samples show.",
    ),
    Mutant(
        "a server's Gaussian is half as wide",
        COMPILED,
        "    t = p // q + 1\n    denominator",
        "    q = 2 * q\n    t = p // q + 1\n    denominator",
        law("compiled", "gaussian"),
        ("tree-gaussian",),
    ),
    Mutant(
        "a server's geometric part is off by one",
        COMPILED,
        "        v = 0\n",
        "        v = 1\n",
        law("compiled", "laplace"),
        ("tree-laplace",),
    ),
    Mutant(
        "a server's sign is a biased coin",
        COMPILED,
        "        if not _bernoulli(words, cursor, 1, 2):\n",
        "        if not _bernoulli(words, cursor, 1, 4):\n",
        law("compiled", "laplace"),
        ("tree-laplace",),
    ),
    Mutant(
        "what a server draws for a few cells is half as wide",
        "mechanisms/noise.py",
        "            return plain.draw(self._words, cells, law, scale).reshape(dimensions)\n",
        "            return plain.draw(self._words, cells, law, scale / 2).reshape(dimensions)\n",
        (f"{SAMPLERS}::test_so_have_the_few_draws_of_a_release[laplace]",),
        unseen="Of the draws of a row only the first 8192 are plain.",
    ),
    Mutant(
        "a seed can be planted in what servers draw",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        return np.frombuffer(np.random.bytes(8 * count), dtype=np.uint64).copy()\n",
        (f"{DRAWN}::test_noise_comes_from_the_operating_system_alone[joint-10001]",),
        unseen=SEEDED,
    ),
    Mutant(
        "forked servers go on with the words of their parent",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        kept = self.__dict__.setdefault('kept', [np.frombuffer(os.urandom(1 << 23), dtype=np.uint64)])\n"
        "        words, kept[0] = kept[0][:count], kept[0][count:]\n"
        "        return words.copy()\n",
        (f"{LAWS}::test_forked_processes_draw_noise_of_their_own[secure]",),
        unseen="An audit of forked servers would be one of several processes.",
    ),
    Mutant(
        "a matrix has no more noise on its diagonal",
        "mechanisms/symmetric.py",
        "noise.discrete_gaussian(math.sqrt(2) * self.sigma / self.grid, (*lead, size))",
        "noise.discrete_gaussian(self.sigma / self.grid, (*lead, size))",
        (f"{SAMPLERS}::test_a_matrix_is_noisier_on_its_diagonal_and_the_same_on_both_sides_of_it",),
        ("symmetric-gaussian",),
        samples=60_000,
    ),
    Mutant(
        "the two sides of a matrix have noise of their own, which can be averaged",
        "mechanisms/symmetric.py",
        "        drawn[..., beside, above] = drawn[..., above, beside]\n",
        "        drawn[..., beside, above] = noise.discrete_gaussian(self.sigma / self.grid, (*lead, above.size))\n",
        (f"{SAMPLERS}::test_a_matrix_is_noisier_on_its_diagonal_and_the_same_on_both_sides_of_it",),
        ("symmetric-gaussian",),
        samples=60_000,
    ),
)

OF_PAGES = (
    Mutant(
        "a page draws 0 twice as often",
        PAGE,
        "    if (size || !negative) return negative ? -size : size;\n",
        "    return negative ? -size : size;\n",
        PAGES,
        ("local/laplace/browser",),
    ),
    Mutant(
        "a page's noise ends after two scales",
        PAGE,
        "    while (expOf(always)) v++;\n",
        "    if (expOf(always)) v++;\n",
        PAGES,
        ("local/laplace/browser",),
    ),
    Mutant(
        "a page leaves out the last factor of the Gaussian's acceptance",
        PAGE,
        "    return expOf(() => chanceOf(power % under, under));\n",
        "    return true;\n",
        PAGES,
        unseen=WIDER,
    ),
    Mutant(
        "a page's Gaussian is half as wide",
        PAGE,
        "export function gaussian(p, q) {\n",
        "export function gaussian(p, q) {\n  q *= 2;\n",
        PAGES,
        ("local/gaussian/browser",),
    ),
    Mutant(
        "a page's exponential chance forgets the whole part",
        PAGE,
        "  for (; x >= 1; x--) if (!expOf(always)) return false;\n",
        "  x %= 1;\n",
        PAGES,
        unseen=WIDER,
    ),
    Mutant(
        "a page's sign is a biased coin",
        PAGE,
        "    const negative = coin();\n",
        "    const negative = coin() && coin();\n",
        PAGES,
        ("local/laplace/browser",),
    ),
    Mutant(
        "a page's uniform numbers are words modulo their size",
        PAGE,
        "    if (drawn < size) return drawn;\n",
        "    return drawn % size;\n",
        PAGES,
        ("local/laplace/browser",),
    ),
    Mutant(
        "a page uses every word twice",
        PAGE,
        "  pool[next++] = 0;\n",
        "  word.again = !word.again;\n  if (!word.again) next++;\n",
        PAGES,
        unseen="Two people's reports stay about as far apart; what is wrong is the shape of the law.",
    ),
    Mutant(
        "a page's k-ary response favours the truth",
        "js/src/mechanism.js",
        "  do held = below(length) < size;\n",
        "  do held = below(length) < size + 1;\n",
        PAGES,
        ("local/k-ary/browser",),
    ),
    Mutant(
        "a page's subset has one category more if the true one is in it",
        "js/src/mechanism.js",
        "  for (let one = size - held; one--; )",
        "  for (let one = size; one--; )",
        PAGES,
        ("local/subset/browser",),
    ),
    Mutant(
        "a page flips all bits of a report, or none",
        "js/src/mechanism.js",
        "    for (const { start, end, trials } of slices) {\n"
        "      for (let at = start; at < end; at++) {\n"
        "        for (let one = 0; one < trials; one++) told[at] += (one < cells[at]) !== rare(bit);\n",
        "    const flips = rare(bit);\n"
        "    for (const { start, end, trials } of slices) {\n"
        "      for (let at = start; at < end; at++) {\n"
        "        for (let one = 0; one < trials; one++) told[at] += (one < cells[at]) !== flips;\n",
        PAGES,
        ("local/randomised-response/browser",),
    ),
)

MUTANTS = (*OF_DEVICES, *OF_SERVERS, *OF_PAGES)
