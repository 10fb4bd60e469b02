"""Mutants of what is counted, of its price, and of what a device says of itself."""

from __future__ import annotations

from .planted import LAWS, PRICES, Mutant, laws

MUTANTS = (
    Mutant(
        "a person is counted twice",
        "data/privatizers/curator.py",
        "        self._open += cells\n        self._members += 1\n",
        "        self._open += 2 * cells\n        self._members += 1\n",
        ("tests/data/privatizers/test_curator.py",),
        ("joint/tree-laplace", "joint/toeplitz"),
    ),
    Mutant(
        "a person of a data set is counted twice",
        "data/privatizers/dataset.py",
        "self.take_sum(Total(cells, 1))",
        "self.take_sum(Total(2 * cells, 1))",
        ("tests/data/privatizers/test_dataset.py",),
        ("central/gaussian",),
    ),
    Mutant(
        "people with several episodes are charged for one",
        "protocol/trusts/central.py",
        "    return replace(size.scaled(float(episodes)), cells=size.cells * episodes)\n",
        "    return replace(size, cells=size.cells * episodes)\n",
        ("tests/data/privatizers/test_dataset.py", "tests/analysis/fitting/test_fit.py"),
        ("central/laplace/group",),
    ),
    Mutant(
        "only one of two neighbours is priced",
        "protocol/kinds/sensitivity.py",
        "    people = 2 if neighbours == REPLACE else 1\n",
        "    people = 1\n",
        (PRICES,),
        ("local/laplace",),
    ),
    Mutant(
        "all but one step are missing in the price of transitions",
        "protocol/kinds/sensitivity.py",
        "    return [question.transition_steps]\n",
        "    return [min(question.transition_steps, 1)]\n",
        (PRICES,),
        ("local/laplace/h3",),
    ),
    Mutant(
        "pooled counts are priced as if steps had cells of their own",
        "protocol/kinds/sensitivity.py",
        "    pooled = question.spec.layers == 1\n    horizon",
        "    pooled = False\n    horizon",
        (PRICES,),
        ("local/gaussian/h3",),
    ),
    Mutant(
        "odd horizons lose half a step",
        "protocol/kinds/sensitivity.py",
        "math.ceil(horizon / 2)",
        "horizon // 2",
        (PRICES,),
        unseen="At three steps epsilon is 3 % larger than certified: less than any affordable number of samples can tell.",
    ),
    Mutant(
        "the budget is forgotten",
        "data/statistics/tabular.py",
        "        if before == 0 or spent + more + possible <= question.budget:\n",
        "        if True:\n",
        ("tests/protocol/kinds/test_budgeted.py::test_no_two_people_are_further_apart_than_the_price",),
        ("joint/toeplitz/budgeted",),
    ),
    Mutant(
        "the budget has no reserve for pairs met late",
        "data/statistics/tabular.py",
        "        possible = min(spec.horizon - step - 1, unseen)\n",
        "        possible = 0\n",
        ("tests/protocol/kinds/test_budgeted.py::test_no_two_people_are_further_apart_than_the_price",),
        unseen="Nobody is further apart by it than by the budget's worst pair at these sizes; at others by a little.",
    ),
    Mutant(
        "whole visits are told where half of them are free",
        "data/statistics/tabular.py",
        "        HALVES: np.full(steps, unit // 2),\n",
        "        HALVES: np.full(steps, unit),\n",
        ("tests/protocol/kinds/test_budgeted.py::test_half_the_visits_are_free",),
        unseen="At the sizes of an attack two people are further apart by it by a twelfth, which no bound here reaches.",
    ),
    Mutant(
        "the price of a budget is without its factor 3",
        "protocol/kinds/budgeted.py",
        "        square = self.budget * (2.0 * (TRANSITIONS in self.counts.parts) + self._square_of_pairs())\n",
        "        square = self.budget\n",
        ("tests/protocol/kinds/test_budgeted.py::test_the_price_by_hand",),
        ("joint/toeplitz/budgeted",),
    ),
    Mutant(
        "the budget is forgotten in a data set",
        "protocol/kinds/spending.py",
        "        if spending.numbers[0] + more + min(steps_left, unseen) > budget:\n            return False\n",
        "",
        ("tests/data/statistics/test_counting.py::test_a_budget_lets_the_same_visits_through_as_on_a_device",),
        ("fit/gaussian/budgeted",),
    ),
    Mutant(
        "visits under a budget are priced as if rewards were asked for beside them",
        "protocol/kinds/budgeted.py",
        "            return 2.0 * (VISITS in parts)\n",
        "            return 1.5 * (VISITS in parts)\n",
        ("tests/protocol/kinds/test_budgeted.py::test_visits_without_rewards_reach_their_price",),
        unseen="Visits have a tenth of a fit's promise, so that all of it together gives away 1 % more than certified.",
    ),
    Mutant(
        "min for max in the price of two halves",
        "protocol/kinds/gram.py",
        "max(total.values()) if self.form.split",
        "min(total.values()) if self.form.split",
        ("tests/protocol/test_gram.py",),
        unseen="tight noise makes both halves cost the same, so the two differ only in printed calibrations.",
    ),
    Mutant(
        "Gram matrices have no noise",
        "data/privatizers/gram.py",
        "            noisy_matrix = SymmetricGaussian(size, MATRIX_GRID).add(matrix, self.noise)\n",
        "",
        ("tests/data/privatizers/test_gram.py",),
        ("fit/gram/worst-h2",),
    ),
    Mutant(
        "the diagonal of a matrix has the noise of the rest",
        "mechanisms/symmetric.py",
        "noise.discrete_gaussian(math.sqrt(2) * self.sigma / self.grid, (*lead, size))",
        "noise.discrete_gaussian(self.sigma / self.grid, (*lead, size))",
        ("tests/mechanisms/test_symmetric.py",),
        ("symmetric-gaussian",),
    ),
    Mutant(
        "a mixture's price is half of what it is",
        "protocol/kinds/mixture.py",
        "    l2 = exact * (1 + ROUNDING) + grid * math.sqrt(touched)\n",
        "    l2 = exact / 2 + grid * math.sqrt(touched)\n",
        ("tests/data/privatizers/test_mixture.py",),
        ("local/mixture",),
    ),
    Mutant(
        "a bit is kept with the whole epsilon",
        "mechanisms/randomized_response.py",
        "noise.lies(self.bit_epsilon, 1, bits.shape)",
        "noise.lies(2 * self.bit_epsilon, 1, bits.shape)",
        ("tests/mechanisms/test_randomized_response.py",),
        ("local/randomised-response", "shuffle/shuffled-bits"),
    ),
    Mutant(
        "k-ary response lies half as often",
        "mechanisms/unary.py",
        "lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])",
        "lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0]) and bool(noise.bernoulli(0.5, 1)[0])",
        ("tests/mechanisms/test_unary.py",),
        ("k-ary",),
    ),
    Mutant(
        "bits for the larger shufflers of a tree are flipped less often",
        "mechanisms/shuffled_bits.py",
        "return tuple(RandomizedResponse(crowd.bit_epsilon) for crowd in self.crowds)",
        "return tuple(RandomizedResponse(2 * at * crowd.bit_epsilon) for at, crowd in enumerate(self.crowds, start=1))",
        (f"{LAWS}::test_devices_flip_bits_for_every_shuffler_as_often_as_is_priced",),
        ("shuffle/shuffled-bits/tree",),
    ),
    Mutant(
        "a pair is drawn again until it was visited",
        "data/statistics/answers.py",
        "    levels = levels_of(question.counts, trajectory, integers)\n    cells = np.zeros(question.width, dtype=np.int64)\n"
        "    cells[first_visit",
        "    levels = levels_of(question.counts, trajectory, integers)\n    cells = np.zeros(question.width, dtype=np.int64)\n"
        "    for _ in range(50):\n"
        "        if first_visit(question, trajectory, levels, row) != 2 * question.counts.next_states:\n"
        "            break\n"
        "        row = int(np.searchsorted(ends, int(integers(int(ends[-1]), 1)[0]), side='right'))\n"
        "    cells[first_visit",
        ("tests/protocol/kinds/test_asked.py::test_no_message_tells_two_people_apart_by_more_than_epsilon",),
        ("local/asked-k-ary",),
    ),
    Mutant(
        "the step that is told is one of those that were taken",
        "data/statistics/answers.py",
        "    step = int(integers(question.spec.horizon, 1)[0])\n",
        "    step = int(integers(trajectory.steps, 1)[0])\n",
        (f"{LAWS}::test_which_step_is_told_does_not_depend_on_how_many_were_taken",),
        ("local/k-ary/h2-per-step", "shuffle/shuffled-step/h2-per-step"),
    ),
    Mutant(
        "two people who use one device share their noise",
        "data/privatizers/devices.py",
        "    randomised = mechanism.randomize(cells * mechanism.grid, design.question.trials, noise)\n",
        "    kept = report.__dict__.setdefault(str(cells.shape), [])\n"
        "    exact = cells * mechanism.grid\n"
        "    randomised = exact + kept[0] if kept else mechanism.randomize(exact, design.question.trials, noise)\n"
        "    kept[:] = [] if kept else [randomised - exact]\n",
        laws("local laplace"),
        ("local/laplace",),
    ),
    Mutant(
        "two people who use one device lie together",
        "mechanisms/unary.py",
        "        lying = bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])\n",
        "        kept = noise.__dict__.setdefault('kept', [])\n"
        "        kept.extend([] if kept else [bool(noise.lies(self.epsilon, self.categories - 1, 1)[0])] * 2)\n"
        "        lying = kept.pop()\n",
        (f"{LAWS}::test_people_lie_for_themselves[k-ary]",),
        ("local/k-ary",),
        samples=100_000,
    ),
    Mutant(
        "forked processes go on with the stream of their parent",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        rng = self.__dict__.setdefault('rng', np.random.default_rng())\n"
        "        return rng.integers(1 << 64, size=count, dtype=np.uint64)\n",
        (f"{LAWS}::test_forked_processes_draw_noise_of_their_own[light]",),
        unseen="An audit draws in one process. In each alone the noise is as it should be.",
    ),
    Mutant(
        "what people earned is told without noise in linear fits",
        "data/privatizers/gram.py",
        "mechanism.randomize(exact, family.trials, self.noise).tolist()",
        "exact.tolist()",
        (f"{LAWS}::test_gram_sums_and_worth_have_noise_of_their_own_and_of_the_right_size",),
        ("fit/gram",),
    ),
    Mutant(
        "Gram vectors have the noise of the first question",
        "data/privatizers/gram.py",
        "for std in sizes]\n            )\n",
        "for std in sizes]\n            )\n"
        "            first = self.__dict__.setdefault('first', vector_noise)\n"
        "            vector_noise = first if vector_noise.shape == first.shape else vector_noise\n",
        (f"{LAWS}::test_gram_sums_and_worth_have_noise_of_their_own_and_of_the_right_size",),
        ("fit/gram/worst-h2",),
    ),
    Mutant(
        "the last step is missing in the price of transitions",
        "protocol/kinds/sensitivity.py",
        "    return [question.transition_steps]\n",
        "    return [max(question.transition_steps - 1, 1)]\n",
        (PRICES,),
        ("local/gaussian/h3",),
        samples=100_000,
    ),
    Mutant(
        "a crowd is taken for four times as many people",
        "protocol/trusts/mixing.py",
        "        return int(self.share * people + 1e-9)\n",
        "        return int(4 * self.share * people + 1e-9)\n",
        ("tests/protocol/test_shuffle.py",),
        ("shuffle/shuffled-step", "shuffle/shuffled-bits"),
    ),
    Mutant(
        "threads that share a device begin the same stream",
        "mechanisms/noise.py",
        "        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()\n",
        "        import threading\n\n"
        "        kept = self.__dict__.setdefault('kept', threading.local())\n"
        "        if not hasattr(kept, 'rng'):\n"
        "            kept.rng = np.random.default_rng(7)\n"
        "        return np.asarray(kept.rng.integers(1 << 64, size=count, dtype=np.uint64))\n",
        (f"{LAWS}::test_threads_draw_noise_of_their_own[LightNoise]",),
        unseen="An audit draws in one thread. In each alone the noise is as it should be.",
    ),
    Mutant(
        "bits of people who are not honest are counted as a crowd",
        "protocol/trusts/mixing.py",
        "        return int(self.share * people + 1e-9)\n",
        "        return int(people)\n",
        ("tests/protocol/test_shuffle.py",),
        unseen="Who is honest is an assumption: no output of honest people tells how many there are.",
    ),
    Mutant(
        "where batches widen the larger ones are taken for eight times as large, not twice",
        "protocol/trusts/shuffle.py",
        "    sizes = (mixing.batch << level for level in range(mixing.levels(users)))\n",
        "    sizes = (mixing.batch << 3 * level for level in range(mixing.levels(users)))\n",
        ("tests/protocol/test_shuffle.py::test_batches_that_widen_keep_the_promise_with_flips_of_their_own",),
        ("shuffle/shuffled-bits/widening", "shuffle/shuffled-bits/widening-h2-per-step"),
    ),
    Mutant(
        "where batches widen a bit is charged as in the batch that hides it best",
        "privacy/shuffling.py",
        "    above = np.max([_profile(crowd, np.exp(grid), splits) for crowd in crowds], axis=0)\n",
        "    above = np.min([_profile(crowd, np.exp(grid), splits) for crowd in crowds], axis=0)\n",
        ("tests/privacy/test_shuffling.py::test_crowds_apart_each_keep_the_promise_with_hardly_more_noise_than_alone",),
        unseen="All sizes have the same variance, so that noise falls short by some 2 %.",
    ),
    Mutant(
        "of a user who comes again the first batch alone is charged",
        "mechanisms/toeplitz.py",
        "        for first in range(0, times * self.separation, self.separation):\n",
        "        for first in range(1):\n",
        ("tests/mechanisms/test_participation.py::test_no_pattern_of_batches_moves_more_than_is_charged",),
        ("joint/toeplitz/thrice",),
    ),
)
