"""The mutants: each one edit of the sources that breaks a promise, the tests that must notice, and what of the audit must."""

from __future__ import annotations

from dataclasses import dataclass

LAWS = "tests/audit/test_laws.py"
PRICES = "tests/questions/test_sensitivity.py"


@dataclass(frozen=True)
class Mutant:
    """One planted mistake. audits: entries by name. unseen: why no attack can see it, where none can. samples: of the audit."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    audits: tuple[str, ...] = ()
    unseen: str = ""
    samples: int = 20_000


def laws(name: str) -> tuple[str, ...]:
    """The test of the law of one design."""
    return (f"{LAWS}::test_cells_releases_and_people_have_noise_of_their_own_and_of_the_right_size[{name}]",)


FIT = (f"{LAWS}::test_all_releases_of_a_fit_have_noise_of_their_own_and_of_the_right_size",)

MUTANTS = (
    Mutant(
        "Laplace noise is half of what is said",
        "mechanisms/laplace.py",
        "return noise.discrete_laplace(self.scale / self.grid, shape)",
        "return noise.discrete_laplace(self.scale / self.grid / 2, shape)",
        laws("local laplace"),
        ("local/laplace",),
    ),
    Mutant(
        "Gaussian noise is half of what is said",
        "mechanisms/gaussian.py",
        "return noise.discrete_gaussian(self.sigma / self.grid, shape)",
        "return noise.discrete_gaussian(self.sigma / self.grid / 2, shape)",
        laws("local gaussian"),
        ("local/gaussian",),
    ),
    Mutant(
        "sigma is taken for a variance",
        "mechanisms/gaussian.py",
        "return noise.discrete_gaussian(self.sigma / self.grid, shape)",
        "return noise.discrete_gaussian(math.sqrt(self.sigma) / self.grid, shape)",
        laws("central gaussian"),
        ("central/gaussian/h3",),
    ),
    Mutant(
        "one draw for all cells",
        "mechanisms/laplace.py",
        "return noise.discrete_laplace(self.scale / self.grid, shape)",
        "return noise.discrete_laplace(self.scale / self.grid, 1) + np.zeros(shape, dtype=np.int64)",
        laws("local laplace"),
        ("local/laplace",),
    ),
    Mutant(
        "two cells of a release share their noise: N(0,0,0) - N(1,1,0) is exact",
        "privatizers/dataset.py",
        "noisy[possible] = design.mechanism.randomize(exact, design.question.trials[possible], self.noise)",
        "noisy[possible] = design.mechanism.randomize(exact, design.question.trials[possible], self.noise)\n"
        "        noisy[-2] = noisy[4] - self._cells[4] / design.question.resolution + self._cells[-2] / design.question.resolution",
        laws("central gaussian"),
        ("central/gaussian", "central/laplace"),
    ),
    Mutant(
        "the noise of counts is used again for first states",
        "fitting/plan.py",
        "            released[name] = book.close()\n",
        "            released[name] = book.close()\n"
        "            if name == STARTS:\n"
        "                first = released[COUNTS].counts.transitions.ravel()[:3]  # type: ignore[union-attr]\n"
        "                true = (cells[COUNTS] / self.question.resolution)[self.question.slices['transitions']][:3]\n"
        "                released[name].counts.visits.ravel()[:3] = counted.starts[:3] + (first - true) / 8  # type: ignore\n",
        FIT,
        ("fit/gaussian/h3",),
    ),
    Mutant(
        "first states are released without noise",
        "fitting/plan.py",
        "            released[name] = book.close()\n",
        "            released[name] = book.close()\n"
        "            if name == STARTS:\n"
        "                released[name].counts.visits.ravel()[:] = counted.starts  # type: ignore[union-attr]\n",
        FIT,
        ("fit/gaussian",),
    ),
    Mutant(
        "returns have a tenth of their noise",
        "privatizers/returns.py",
        "drawn = mechanism.steps(self.noise, (3,))",
        "drawn = mechanism.steps(self.noise, (3,)) // 10",
        FIT,
        ("fit/gaussian",),
    ),
    Mutant(
        "rewards are weighed by 1/p, and not by f/p",
        "statistics/weighing.py",
        "np.clip(paid * data.floor / rows.propensity[mine], 0.0, 1.0) * levels",
        "paid / rows.propensity[mine] * levels",
        ("tests/fitting/test_propensities.py::test_a_row_weighs_no_more_than_one",),
        ("fit/gaussian/propensity",),
    ),
    Mutant(
        "weighed rewards are released without noise",
        "fitting/plan.py",
        "            released[name] = book.close()\n",
        "            released[name] = book.close()\n"
        "            if name == WEIGHED:\n"
        "                exact = counted.weighed.reshape(released[name].counts.rewards.shape)  # type: ignore[union-attr]\n"
        "                released[name].counts.rewards[:] = exact / LEVELS  # type: ignore[union-attr]\n",
        FIT,
        ("fit/gaussian/propensity",),
    ),
    Mutant(
        "a tree has a level less in its price",
        "mechanisms/tree.py",
        "            return Pure(self.levels * sensitivity.l1 / self.scale)\n",
        "            return Pure(max(1, self.levels - 1) * sensitivity.l1 / self.scale)\n",
        ("tests/mechanisms/test_tree.py",),
        ("tree-laplace", "joint/tree-laplace"),
    ),
    Mutant(
        "a tree's lowest level has no noise",
        "mechanisms/tree.py",
        "        noises[closed] = drawn\n",
        "        noises[closed] = drawn if closed else 0\n",
        laws("joint tree"),
        ("joint/tree-laplace",),
    ),
    Mutant(
        "nodes of a tree use the noise of the node before",
        "mechanisms/tree.py",
        "        noises[closed] = drawn\n",
        "        noises[closed] = drawn if release == 1 else noises[0]\n",
        laws("joint tree"),
        ("joint/tree-laplace",),
    ),
    Mutant(
        "nodes still in use are drawn anew at every release",
        "mechanisms/tree.py",
        "        noises[closed] = drawn\n",
        "        noises[closed] = drawn\n"
        "        for level in range(self.levels):\n"
        "            noises[level] = draw(self.scale / self.grid, state.cells)\n",
        ("tests/mechanisms/test_tree.py",),
        ("joint/tree-gaussian/r15",),
        samples=100_000,
    ),
    Mutant(
        "a second release uses the noise of the first",
        "mechanisms/toeplitz.py",
        "        reports[past] += drawn\n",
        "        reports[past] += drawn if past == 0 else reports[0] - np.rint(convolved(increments, 1, f)).astype(int)\n",
        laws("joint toeplitz"),
        ("joint/toeplitz",),
    ),
    Mutant(
        "releases after the first have no noise of their own",
        "mechanisms/toeplitz.py",
        "        reports[past] += drawn\n",
        "        reports[past] += drawn if past == 0 else 0\n",
        laws("joint toeplitz"),
        ("joint/toeplitz",),
    ),
    Mutant(
        "noise is whole where counts are halves, so that halves show",
        "mechanisms/gaussian.py",
        "return noise.discrete_gaussian(self.sigma / self.grid, shape)",
        "return round(1 / self.grid) * noise.discrete_gaussian(self.sigma, shape)",
        laws("local gaussian"),
        ("local/gaussian",),
    ),
    Mutant(
        "a buffered counter draws half its noise",
        "mechanisms/buffered.py",
        "drawn = noise.discrete_gaussian(self.sigma / self.grid, state.cells)",
        "drawn = noise.discrete_gaussian(self.sigma / self.grid / 2, state.cells)",
        laws("joint buffered"),
        ("joint/buffered-toeplitz",),
    ),
    Mutant(
        "after a restart a curator's counter begins anew",
        "privatizers/curator.py",
        "        return cls(design, noise, simulated, read)\n",
        "        read.arrays[1][...] = 0\n        return cls(design, noise, simulated, read)\n",
        laws("joint tree"),
        ("joint/tree-gaussian/r15",),
    ),
    Mutant(
        "a person is counted twice",
        "privatizers/curator.py",
        "        self._open += cells\n        self._members += 1\n",
        "        self._open += 2 * cells\n        self._members += 1\n",
        ("tests/privatizers/test_curator.py",),
        ("joint/tree-laplace", "joint/toeplitz"),
    ),
    Mutant(
        "a person of a data set is counted twice",
        "privatizers/dataset.py",
        "self.take_sum(Total(cells, 1))",
        "self.take_sum(Total(2 * cells, 1))",
        ("tests/privatizers/test_dataset.py",),
        ("central/gaussian",),
    ),
    Mutant(
        "people with several episodes are charged for one",
        "designs/central.py",
        "    return replace(size.scaled(float(episodes)), cells=size.cells * episodes)\n",
        "    return replace(size, cells=size.cells * episodes)\n",
        ("tests/privatizers/test_dataset.py", "tests/fitting/test_fit.py"),
        ("central/laplace/group",),
    ),
    Mutant(
        "only one of two neighbours is priced",
        "questions/sensitivity.py",
        "    people = 2 if neighbours == REPLACE else 1\n",
        "    people = 1\n",
        (PRICES,),
        ("local/laplace",),
    ),
    Mutant(
        "all but one step are missing in the price of transitions",
        "questions/sensitivity.py",
        "    return [question.transition_steps]\n",
        "    return [min(question.transition_steps, 1)]\n",
        (PRICES,),
        ("local/laplace/h3",),
    ),
    Mutant(
        "pooled counts are priced as if steps had cells of their own",
        "questions/sensitivity.py",
        "    pooled = question.spec.layers == 1\n    horizon",
        "    pooled = False\n    horizon",
        (PRICES,),
        ("local/gaussian/h3",),
    ),
    Mutant(
        "odd horizons lose half a step",
        "questions/sensitivity.py",
        "math.ceil(horizon / 2)",
        "horizon // 2",
        (PRICES,),
        unseen="At three steps epsilon is 3 % larger than certified: less than any affordable number of samples can tell.",
    ),
    Mutant(
        "the budget is forgotten",
        "statistics/tabular.py",
        "        if before == 0 or spent + more + possible <= question.budget:\n",
        "        if True:\n",
        ("tests/questions/test_budgeted.py::test_no_two_people_are_further_apart_than_the_price",),
        ("joint/toeplitz/budgeted",),
    ),
    Mutant(
        "the budget has no reserve for pairs met late",
        "statistics/tabular.py",
        "        possible = min(spec.horizon - step - 1, unseen)\n",
        "        possible = 0\n",
        ("tests/questions/test_budgeted.py::test_no_two_people_are_further_apart_than_the_price",),
        unseen="Nobody is further apart by it than by the budget's worst pair at these sizes; at others by a little.",
    ),
    Mutant(
        "the price of a budget is without its factor 3",
        "questions/budgeted.py",
        "        square = self.budget * sum(per[part] for part in self.counts.parts)\n",
        "        square = self.budget\n",
        ("tests/questions/test_budgeted.py::test_the_price_by_hand",),
        ("joint/toeplitz/budgeted",),
    ),
    Mutant(
        "min for max in the price of two halves",
        "designs/gram.py",
        "max(total.values()) if self.form.split",
        "min(total.values()) if self.form.split",
        ("tests/designs/test_gram.py",),
        unseen="tight noise makes both halves cost the same, so the two differ only in printed calibrations.",
    ),
    Mutant(
        "Gram matrices have no noise",
        "privatizers/gram.py",
        "            noisy_matrix = SymmetricGaussian(size, MATRIX_GRID).add(matrix, self.noise)\n",
        "",
        ("tests/privatizers/test_gram.py",),
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
        "questions/mixture.py",
        "    l2 = exact * (1 + ROUNDING) + grid * math.sqrt(touched)\n",
        "    l2 = exact / 2 + grid * math.sqrt(touched)\n",
        ("tests/privatizers/test_mixture.py",),
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
        "statistics/answers.py",
        "    levels = levels_of(question.counts, trajectory, integers)\n    cells = np.zeros(question.width, dtype=np.int64)\n"
        "    cells[first_visit",
        "    levels = levels_of(question.counts, trajectory, integers)\n    cells = np.zeros(question.width, dtype=np.int64)\n"
        "    for _ in range(50):\n"
        "        if first_visit(question, trajectory, levels, row) != 2 * question.counts.next_states:\n"
        "            break\n"
        "        row = int(np.searchsorted(ends, int(integers(int(ends[-1]), 1)[0]), side='right'))\n"
        "    cells[first_visit",
        ("tests/questions/test_asked.py::test_no_message_tells_two_people_apart_by_more_than_epsilon",),
        ("local/asked-k-ary",),
    ),
    Mutant(
        "the step that is told is one of those that were taken",
        "statistics/answers.py",
        "    step = int(integers(question.spec.horizon, 1)[0])\n",
        "    step = int(integers(trajectory.steps, 1)[0])\n",
        (f"{LAWS}::test_which_step_is_told_does_not_depend_on_how_many_were_taken",),
        ("local/k-ary/h2-per-step", "shuffle/shuffled-step/h2-per-step"),
    ),
    Mutant(
        "two people who use one device share their noise",
        "privatizers/devices.py",
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
        "privatizers/gram.py",
        "mechanism.randomize(exact, family.trials, self.noise).tolist()",
        "exact.tolist()",
        (f"{LAWS}::test_gram_sums_and_worth_have_noise_of_their_own_and_of_the_right_size",),
        ("fit/gram",),
    ),
    Mutant(
        "Gram vectors have the noise of the first question",
        "privatizers/gram.py",
        "for std in sizes]\n            )\n",
        "for std in sizes]\n            )\n"
        "            first = self.__dict__.setdefault('first', vector_noise)\n"
        "            vector_noise = first if vector_noise.shape == first.shape else vector_noise\n",
        (f"{LAWS}::test_gram_sums_and_worth_have_noise_of_their_own_and_of_the_right_size",),
        ("fit/gram/worst-h2",),
    ),
    Mutant(
        "the last step is missing in the price of transitions",
        "questions/sensitivity.py",
        "    return [question.transition_steps]\n",
        "    return [max(question.transition_steps - 1, 1)]\n",
        (PRICES,),
        ("local/gaussian/h3",),
        samples=100_000,
    ),
    Mutant(
        "a crowd is taken for four times as many people",
        "designs/mixing.py",
        "        return int(self.share * people + 1e-9)\n",
        "        return int(4 * self.share * people + 1e-9)\n",
        ("tests/designs/test_shuffle.py",),
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
        "designs/mixing.py",
        "        return int(self.share * people + 1e-9)\n",
        "        return int(people)\n",
        ("tests/designs/test_shuffle.py",),
        unseen="Who is honest is an assumption: no output of honest people tells how many there are.",
    ),
)
