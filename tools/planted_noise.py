"""Mutants of noise: too little of it, the same twice, or none where there must be some."""

from __future__ import annotations

from .planted import FIT, Mutant, laws

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
        "data/privatizers/dataset.py",
        "noisy[possible] = design.randomizer.randomize(exact, design.question.trials[possible], self.noise)",
        "noisy[possible] = design.randomizer.randomize(exact, design.question.trials[possible], self.noise)\n"
        "        noisy[-2] = noisy[4] - self._cells[4] / design.question.resolution + self._cells[-2] / design.question.resolution",
        laws("central gaussian"),
        ("central/gaussian", "central/laplace"),
    ),
    Mutant(
        "the noise of counts is used again for first states",
        "analysis/fitting/plan.py",
        "            released[name] = aggregate.close()\n",
        "            released[name] = aggregate.close()\n"
        "            if name == STARTS:\n"
        "                first = released[COUNTS].counts.transitions.ravel()[:3]  # type: ignore[union-attr]\n"
        "                true = (cells[COUNTS] / self.question.resolution)[self.question.slices['transitions']][:3]\n"
        "                released[name].counts.visits.ravel()[:3] = counted.starts[:3] + (first - true) / 8  # type: ignore\n",
        FIT,
        ("fit/gaussian/h3",),
    ),
    Mutant(
        "first states are released without noise",
        "analysis/fitting/plan.py",
        "            released[name] = aggregate.close()\n",
        "            released[name] = aggregate.close()\n"
        "            if name == STARTS:\n"
        "                released[name].counts.visits.ravel()[:] = counted.starts  # type: ignore[union-attr]\n",
        FIT,
        ("fit/gaussian",),
    ),
    Mutant(
        "returns have a tenth of their noise",
        "data/privatizers/returns.py",
        "drawn = mechanism.steps(self.noise, (3,))",
        "drawn = mechanism.steps(self.noise, (3,)) // 10",
        FIT,
        ("fit/gaussian",),
    ),
    Mutant(
        "rewards are weighed by 1/p, and not by f/p",
        "data/statistics/weighing.py",
        "np.clip(paid * data.floor / rows.propensity[mine], 0.0, 1.0) * levels",
        "paid / rows.propensity[mine] * levels",
        ("tests/analysis/fitting/test_propensities.py::test_a_row_weighs_no_more_than_one",),
        ("fit/gaussian/propensity",),
    ),
    Mutant(
        "weighed rewards are released without noise",
        "analysis/fitting/plan.py",
        "            released[name] = aggregate.close()\n",
        "            released[name] = aggregate.close()\n"
        "            if name == WEIGHED:\n"
        "                exact = counted.weighed.reshape(released[name].counts.rewards.shape)  # type: ignore[union-attr]\n"
        "                released[name].counts.rewards[:] = exact / LEVELS  # type: ignore[union-attr]\n",
        FIT,
        ("fit/gaussian/propensity",),
    ),
    Mutant(
        "a tree has a level less in its price",
        "mechanisms/tree.py",
        "        return times * self.levels, math.sqrt(times * sum(most))\n",
        "        return times * max(1, self.levels - 1), math.sqrt(times * sum(most))\n",
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
        "data/privatizers/curator.py",
        "        return cls(design, noise, simulated, read)\n",
        "        read.arrays[1][...] = 0\n        return cls(design, noise, simulated, read)\n",
        laws("joint tree"),
        ("joint/tree-gaussian/r15",),
    ),
    Mutant(
        "noise by its table is charged for half of a shift",
        "mechanisms/randomizer.py",
        "math.ceil(size / self.grid), count)",
        "math.ceil(size / self.grid / 2), count)",
        ("tests/mechanisms/test_tabled.py",),
        unseen="no mechanism of ours has a table: one that is registered is refused or audited by its case",
    ),
    Mutant(
        "a counter of one's own is not asked whether it keeps its guarantee",
        "mechanisms/registry.py",
        "    _require_kept(name, counter.loss(sensitivity), guarantee)\n    return counter\n",
        "    return counter\n",
        ("tests/test_examples.py::test_a_counter_that_breaks_its_promise_is_refused",),
        unseen="no counter of ours is registered that way",
    ),
)
