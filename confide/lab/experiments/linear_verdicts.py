"""Verdicts on noise in Gram matrices: printed prescriptions at the sizes of their papers, judged by exact accounts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...learning.learners.vtr import MIXTURE
from ...mdp import MixtureFeatures
from ...mdp.linear import LinearFeatures
from ...privacy import Central, Guarantee, Local, Schedule
from ...protocol.design import PAPER, SOUND, TIGHT, Design, Request
from ...protocol.design import make as designed
from ...protocol.kinds.gram import GRAM, VARIANCE, GramForm, GramNoise
from ...protocol.kinds.mixture import ONE_STEP
from ...protocol.verdicts import Verdict, ordered, verdicts
from ..environments import linear_mdp, make
from ..simulation import prepare

HORIZON = 20


@lru_cache(maxsize=1)
def all_verdicts() -> tuple[Verdict, ...]:
    """All verdicts: those about counts, and those about Gram matrices; judged once a process."""
    mixtures = [
        _mixture("hard-mixture/d5h6", "Alg. 1: sigma 4H^3 sqrt(2 log(2.5H/delta))/epsilon", Local(1.0, 1e-5)),
        _mixture("hard-mixture/d5h6", "Alg. 1: sigma 4H^3 sqrt(2 log(2.5H/delta))/epsilon", Local(20.0, 0.1)),
        _mixture(
            "hard-bandit/d5",
            "H = 1, as Zheng et al.: sigma 4 sqrt(2 log(2.5/delta))/epsilon",
            Local(1.0, 1e-5),
            printing=ONE_STEP,
        ),
        _mixture("riverswim-mixture/3", "Section 6: sigma 4H sqrt(2 log(2.5H/delta))/epsilon", Local(1.0, 1e-5)),
    ]
    return tuple(ordered([*verdicts(), *mixtures, *_logged(Central(rho=1.0)), _logged_pure(Central(1.0))]))


def _mixture(address: str, source: str, promise: Guarantee, printing: str = "") -> Verdict:
    """The verdict on LDP-UCRL-VTR's noise on one person's report. The least noise is that of `sound` were the printed one less."""
    designs: dict[str, Any] = {
        kind: prepare(
            "ucrl-vtr",
            make(address),
            promise,
            1000,
            calibration=kind,
            engine=MIXTURE,
            printing="" if kind == TIGHT else printing,
        ).design
        for kind in (PAPER, SOUND, TIGHT)
    }
    printed, ours = designs[PAPER], designs[TIGHT]
    act, spec = printed.act, printed.question.spec
    needed = act.mechanism.sigma / _least(act, promise)
    dimension = printed.question.features.dimension
    return Verdict(
        paper="ldp-ucrl-vtr",
        source=source,
        trust="local",
        mechanism="gaussian",
        sizes={
            "states": spec.states,
            "actions": spec.actions,
            "horizon": spec.horizon,
            "model": spec.dynamics,
            "users": 1,
        },
        at=f"H={spec.horizon}, d={dimension}, {_features(printed.question.features)} features of {address}",
        claimed=promise,
        true=printed.guarantee,
        true_delta=act.loss.delta(promise.epsilon or 0.0),
        needed=needed,
        parameter="sigma",
        noise={PAPER: act.mechanism.sigma, SOUND: designs[SOUND].act.mechanism.sigma, TIGHT: ours.act.mechanism.sigma},
        supposes="epsilon below 2H",
        supposed=(promise.epsilon or 0.0) < 2 * _decisions(spec.horizon, printing),
    )


def _decisions(horizon: int, printing: str) -> int:
    """H of the paper: a bandit's second step, in which its reward is paid, is none there."""
    return 1 if printing == ONE_STEP else horizon


def _features(features: MixtureFeatures) -> str:
    """What the sensitivity of a mixture rests on: whether pairs share coordinates, and the signs of inner products."""
    return "one-hot" if features.disjoint else "acute" if features.acute else "signed"


def _least(act: Any, promise: Guarantee) -> float:
    """The least sigma that keeps the guarantee on the same question, by bisection on the act's own loss."""
    low, high = float(act.mechanism.sigma / 1e3), float(act.mechanism.sigma * 1e3)
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        loss = replace(act, mechanism=replace(act.mechanism, sigma=middle)).loss
        low, high = (low, middle) if loss.delta(promise.epsilon or 0.0) <= promise.delta else (middle, high)
    return high


def _logged(promise: Guarantee) -> list[Verdict]:
    """The verdicts on DP-VAPVI's 5H Gaussians without splitting, as its paper means them, and as one copy of it prints them."""
    features = linear_mdp.features()
    form = GramForm(features, HORIZON, split=False, centred=False)
    made = {kind: designed(Request(form, promise, Schedule.every(1), kind)) for kind in (PAPER, SOUND, TIGHT)}
    printed = GRAM.noise_of(made[PAPER])
    # With H^2 where H^4 is meant, the noise of the second moments is H times less.
    sizes = tuple(
        (matrix, (vectors[0] / HORIZON, *vectors[1:]) if kind == VARIANCE else vectors)
        for (_, kind), (matrix, vectors) in zip(form.questions, printed.sizes, strict=True)
    )
    garbled = _noised(made[PAPER], GramNoise(form, sizes, PAPER))
    copies = (
        ("Alg. 2: rho/(5H) each, variance of phi_1 2H^4/rho_0", made[PAPER], "1"),
        ("Alg. 2 with variance of phi_1 2H^2/rho_0, as in one copy", garbled, "1"),
        ("Alg. 2 with features of norm sqrt(7), as simulated", _longer(made[PAPER], math.sqrt(7.0)), "sqrt(7)"),
    )
    return [_regression(source, design, made, promise, features, norm) for source, design, norm in copies]


def _logged_pure(promise: Guarantee) -> Verdict:
    """The verdict on DP-VAPVI with Laplace noise: the paper claims pure epsilon for it and states no scales."""
    form = GramForm(linear_mdp.features(), HORIZON, split=False, centred=False)
    made = {kind: designed(Request(form, promise, Schedule.every(1), kind)) for kind in (PAPER, SOUND)}
    epsilon = promise.pure_epsilon()
    return replace(
        _regression(
            "Section 1, Alg. 2 with Laplace noise: epsilon/(5H) each, l1 sensitivities ours",
            made[PAPER],
            made,
            promise,
            linear_mdp.features(),
            "1",
        ),
        mechanism="gram-laplace",
        needed=epsilon / (made[PAPER].guarantee.epsilon or math.nan),
        parameter="matrix_scale",
    )


def _noised(design: Design, noise: GramNoise) -> Design:
    """The same design with other noise."""
    return replace(design, act=replace(design.act, mechanism=noise))


def _longer(design: Design, norm: float) -> Design:
    """The same noise where features are longer than 1: as if matrices had norm^2, and vectors norm, less noise."""
    sizes = tuple(
        (matrix / norm**2, tuple(size / norm for size in vectors)) for matrix, vectors in GRAM.noise_of(design).sizes
    )
    return _noised(design, replace(GRAM.noise_of(design), sizes=sizes))


def _regression(
    source: str,
    design: Design,
    made: dict[str, Design],
    promise: Guarantee,
    features: LinearFeatures,
    norm: str,
) -> Verdict:
    true, rho = design.guarantee, promise.rho or math.nan
    return Verdict(
        paper="offline",
        source=source,
        trust="central",
        mechanism="gram-gaussian",
        sizes={
            "states": features.phi.shape[0],
            "actions": features.phi.shape[1],
            "horizon": HORIZON,
            "model": "per-step",
            "users": 1000,
        },
        at=f"H={HORIZON}, d={features.dimension}, features of norm at most {norm}",
        claimed=promise,
        true=true,
        true_delta=None,
        # All noise times a factor divides rho by its square.
        needed=float(np.sqrt(rho / (true.rho or math.nan))),
        parameter="matrix_sigma",
        noise={kind: max(matrix for matrix, _ in GRAM.noise_of(one).sizes) for kind, one in made.items()},
        supposes="features of norm at most 1",
        supposed=norm == "1",
    )
