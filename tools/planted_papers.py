"""Mutants of printed formulas: each one wrong constant, which a number worked out by hand must notice."""

from __future__ import annotations

from .planted import Mutant

BY_HAND = ("tests/protocol/test_papers.py",)
LINEAR = ("tests/protocol/test_papers_linear.py",)
WIDTH = "A width or a bonus is made from what was released: no output is less private for it."
STATED = "A certificate states what the noise that is drawn keeps, whatever a paper prints."
NO_NOISE = "It is no part of what is released: a bound, or a world to be simulated."


def wrong(what: str, file: str, old: str, new: str, unseen: str = WIDTH) -> Mutant:
    """A wrong constant."""
    return Mutant(what, file, old, new, BY_HAND, unseen=unseen)


def wrong_line(what: str, file: str, old: str, new: str, unseen: str = WIDTH) -> Mutant:
    """A wrong constant in a line of LDP-UCRL-VTR or of the offline algorithms."""
    return Mutant(what, file, old, new, LINEAR, unseen=unseen)


MUTANTS = (
    wrong(
        "PRIVATE-UCB: E has sqrt(4) for sqrt(8)",
        "protocol/papers.py",
        "noise * np.sqrt(8 * growth(episodes) * log)",
        "noise * np.sqrt(4 * growth(episodes) * log)",
    ),
    wrong(
        "PRIVATE-UCB: log K for log T",
        "protocol/papers.py",
        "first, second = _logs(spec, 6 * episodes * spec.horizon, failure)",
        "first, second = _logs(spec, 6 * episodes, failure)",
    ),
    wrong(
        "PUCB: log(K) to the power 2 for 5/2",
        "protocol/papers.py",
        "max(math.log2(episodes), 1.0) ** 1.5",
        "max(math.log2(episodes), 1.0) ** 1.0",
    ),
    wrong(
        "LDP-OBI, Prop. 8: sqrt(5) for sqrt(8) in c_1 and c_2",
        "protocol/papers.py",
        "visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(8 * first) * noise",
        "visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(5 * first) * noise",
    ),
    wrong(
        "LDP-OBI, Prop. 8: sqrt(5) for sqrt(8) in c_3",
        "protocol/papers.py",
        "rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(8 * second) * noise",
        "rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(5 * second) * noise",
    ),
    wrong(
        "LDP-OBI, Prop. 8: c_4 = c_3/S",
        "protocol/papers.py",
        "return _same(visits, rows / math.sqrt(spec.states), rows)",
        "return _same(visits, rows / spec.states, rows)",
    ),
    wrong(
        "SHUFFLED-OBI, eq. (7): the first term is gone",
        "protocol/shuffled_obi.py",
        "visits = first + np.sqrt(users * bits) / (1 - p)",
        "visits = np.sqrt(users * bits) / (1 - p)",
    ),
    wrong(
        "SHUFFLED-OBI, eq. (8): the extra term is gone",
        "protocol/shuffled_obi.py",
        "rewards = rounded + np.sqrt(k * bits / reward_bits)",
        "rewards = np.sqrt(k * bits / reward_bits)",
    ),
    wrong(
        "DP-VAPVI: D/K is gone",
        "learning/learners/vapvi.py",
        "size * self._remainder(fitted, release) / people",
        "0.0 * self._remainder(fitted, release) / people",
    ),
    wrong(
        "DP-VAPVI: matrices are shifted by E instead of E/2",
        "learning/planning/regression.py",
        "return noise * math.sqrt(2 * size) * (2 + tail)",
        "return 2 * noise * math.sqrt(2 * size) * (2 + tail)",
    ),
    wrong_line(
        "LDP-UCRL-VTR: sigma has 2 H^3 for 4 H^3",
        "protocol/kinds/mixture.py",
        "return 4 * horizon * v**2 * math.sqrt(2 * math.log(2.5 * horizon / promise.delta)) / promise.epsilon",
        "return 2 * horizon * v**2 * math.sqrt(2 * math.log(2.5 * horizon / promise.delta)) / promise.epsilon",
        STATED,
    ),
    wrong_line(
        "LDP-UCRL-VTR: Gamma has sqrt(2 d) for sqrt(4 d)",
        "protocol/papers.py",
        "tail = math.sqrt(4 * form.features.dimension)",
        "tail = math.sqrt(2 * form.features.dimension)",
    ),
    wrong_line(
        "LDP-UCRL-VTR: the shift is Gamma for 2 Gamma",
        "learning/planning/value_targeted.py",
        "shift = rule.ridge + 2.0 * gram_radius",
        "shift = rule.ridge + 1.0 * gram_radius",
    ),
    wrong_line(
        "LDP-UCRL-VTR: d^(1/2) for d^(3/4) in beta",
        "learning/planning/value_targeted.py",
        "problem.dimension**0.75",
        "problem.dimension**0.5",
    ),
    wrong_line(
        "LDP-UCRL-VTR: the number of people before for k in beta",
        "learning/planning/value_targeted.py",
        "(users + 1.0) ** 0.25",
        "users**0.25",
    ),
    wrong_line(
        "UCRL-VTR: c multiplies all of the radius of Section 6",
        "learning/planning/value_targeted.py",
        "return scale * problem.parameter_norm + steps_left * math.sqrt(max(0.0, rule.log_confidence + volume))",
        "return scale * (problem.parameter_norm + steps_left * math.sqrt(max(0.0, rule.log_confidence + volume)))",
    ),
    wrong_line(
        "UCRL-VTR: log K for 2 log K",
        "learning/learners/vtr.py",
        "confidence = 2 * math.log(max(context.users, 2))",
        "confidence = math.log(max(context.users, 2))",
    ),
    wrong_line(
        "LDP-UCRL-VTR, Theorem 5.6: e^epsilon for min(2, e^epsilon)",
        "lab/environments/mixture.py",
        "(min(2.0, math.exp(epsilon)) * math.expm1(epsilon))",
        "(math.exp(epsilon) * math.expm1(epsilon))",
        NO_NOISE,
    ),
    wrong_line(
        "DP-APVI: C_2 = 8 for 16",
        "learning/planning/pessimism.py",
        "privacy: float = 16.0",
        "privacy: float = 8.0",
    ),
    wrong_line(
        "DP-APVI: the variance is divided by n for n - E",
        "learning/planning/pessimism.py",
        "clear = np.where(known, n - error, 1.0)",
        "clear = np.where(known, n, 1.0)",
    ),
    wrong_line(
        "DP-APVI: iota has log(S A/delta)",
        "learning/planning/pessimism.py",
        "log = math.log(spec.horizon * spec.states * spec.actions / (release.failure or 0.1))",
        "log = math.log(spec.states * spec.actions / (release.failure or 0.1))",
    ),
    wrong(
        "DP-APVI: E_rho has 2 for 4",
        "protocol/papers.py",
        "half = np.full_like(users, noise * np.sqrt(2 * second))",
        "half = np.full_like(users, noise * np.sqrt(second / 2))",
    ),
    wrong_line(
        "DP-APVI, Theorem 3.3: 2 sqrt(2) for 4 sqrt(2)",
        "lab/experiments/offline.py",
        "main = 4 * math.sqrt(2) * float(",
        "main = 2 * math.sqrt(2) * float(",
        NO_NOISE,
    ),
    wrong_line(
        "DP-APVI, Theorem 3.3: H S E for S H^2 E",
        "lab/experiments/offline.py",
        "rest = (horizon**3 + states * horizon**2 * error)",
        "rest = (horizon**3 + states * horizon * error)",
        NO_NOISE,
    ),
    wrong_line(
        "DP-VAPVI: the mean is not squared in the variance",
        "mdp/critic.py",
        "np.clip(mean + self.middles[1], 0, self.top) ** 2",
        "np.clip(mean + self.middles[1], 0, self.top)",
    ),
    wrong(
        "DP-VAPVI: rho_0 = rho/(4 H)",
        "protocol/kinds/gram.py",
        "share = rho / (5 * form.horizon)",
        "share = rho / (4 * form.horizon)",
        STATED,
    ),
    wrong(
        "DP-VAPVI: kappa to the power 1 for 3/2 in D",
        "learning/planning/regression.py",
        "math.pow(kappa, 1.5)",
        "math.pow(kappa, 1.0)",
    ),
    wrong_line(
        "PEVI: sqrt(d) for d",
        "learning/learners/vapvi.py",
        "return self.constant * d * horizon * math.sqrt(",
        "return self.constant * math.sqrt(d) * horizon * math.sqrt(",
    ),
)
