"""From a promise to a privatizer: which question, which mechanism, how much noise, in three calibrations.

`paper`: question, mechanism and noise as a paper prints them; the certificate states what that truly gives. `sound`: the
same with the noise multiplied by the one factor, at least 1, that makes the claim true. `tight`: the least noise known to
us for the promise, on the question that needs least.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import validation
from ..errors import InvalidInput
from ..mechanisms.bounded import Bounded
from ..mechanisms.buffered import BufferedToeplitzCounter
from ..mechanisms.counter import Counter
from ..mechanisms.gaussian import FINE, Gaussian, sigma_for
from ..mechanisms.laplace import Laplace
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.toeplitz import ToeplitzCounter
from ..mechanisms.tree import TreeCounter
from ..mechanisms.unary import KARY, UNARY, SampledStep
from ..privacy import Act, Guarantee, Schedule, Sensitivity
from ..privacy.conversion import gaussian_mu
from ..privacy.guarantee import CENTRAL, JOINT, LOCAL
from ..releases import CountQuestion
from ..releases.papers import Printed, printed
from ..releases.question import CENTRED, COUNTED, DROPPED, TRANSITIONS
from ..releases.reading import LocalMechanism, backup_variance, categories
from ..statistics import sensitivity
from .central import CentralPrivatizer
from .local import LocalPrivatizer

PAPER, SOUND, TIGHT = "paper", "sound", "tight"
AUTO = "auto"
LOCAL_MECHANISMS = ("laplace", "gaussian", "randomised-response", "bounded", "unary", "k-ary")
CENTRAL_MECHANISMS = ("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz")
# Up to this many cells times releases the plain Toeplitz counter keeps its history; beyond, the buffered one.
PLAIN_TOEPLITZ = 1 << 22

Make = Callable[[CountQuestion, Sensitivity, Guarantee], LocalMechanism]


def design(
    question: CountQuestion,
    guarantee: Guarantee,
    schedule: Schedule,
    calibration: str = TIGHT,
    mechanism: str = AUTO,
    paper: str = "",
) -> LocalPrivatizer | CentralPrivatizer:
    """The privatizer for a promise; `paper` names whose constants `paper` and `sound` use."""
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    if guarantee.trust == LOCAL:
        return design_local(question, guarantee, schedule.users, calibration, mechanism, paper)
    if guarantee.trust in (JOINT, CENTRAL):
        return design_central(question, guarantee, schedule, calibration, mechanism, paper)
    raise InvalidInput(f"There is no privatizer for trust {guarantee.trust!r} here. Choose local, joint or central.")


def design_local(
    question: CountQuestion, guarantee: Guarantee, users: int, calibration: str, mechanism: str, paper: str
) -> LocalPrivatizer:
    """A privatizer that runs on a device."""
    if mechanism != AUTO:
        validation.choice("mechanism", mechanism, LOCAL_MECHANISMS)
    if calibration == TIGHT:
        names = LOCAL_MECHANISMS if mechanism == AUTO else (mechanism,)
        options = [option for name in names for option in _tight_local(question, guarantee, name, mechanism == AUTO)]
        asked, made = min(options, key=lambda option: backup_variance(*option))
        return LocalPrivatizer(asked, Act(made, sensitivity(asked)), guarantee, calibration, users)
    name = "laplace" if mechanism == AUTO else mechanism
    rule = printed(paper, LOCAL, name)
    size = sensitivity(question)
    noise = _noise(rule, question, guarantee, users, calibration, name)
    made = _local(name, question, size, guarantee, noise, calibration)
    own = None
    if rule is not None:
        own = (rule.radii if calibration == PAPER else rule.sound_radii(), _size_of(made))
    return LocalPrivatizer(question, Act(made, size), guarantee, calibration, users, own)


def design_central(
    question: CountQuestion, guarantee: Guarantee, schedule: Schedule, calibration: str, mechanism: str, paper: str
) -> CentralPrivatizer:
    """A privatizer that runs at a curator."""
    if mechanism != AUTO:
        validation.choice("mechanism", mechanism, CENTRAL_MECHANISMS)
    if calibration == TIGHT:
        asked = question.having(parts=(CENTRED, TRANSITIONS), last=COUNTED)
        size = sensitivity(asked)
        name = mechanism
        if name == AUTO:
            plain = schedule.releases * asked.cells <= PLAIN_TOEPLITZ
            name = "tree-laplace" if guarantee.pure else "toeplitz" if plain else "buffered-toeplitz"
        counter = _counter(name, asked, size, guarantee, schedule.releases)
        return CentralPrivatizer(asked, Act(counter, size), guarantee, calibration, schedule)
    name = "tree-laplace" if mechanism == AUTO else mechanism
    rule = printed(paper, JOINT, name)
    size = sensitivity(question)
    noise = _noise(rule, question, guarantee, schedule.users, calibration, name)
    counter = _counter(name, question, size, guarantee, schedule.releases, noise, calibration)
    own = None
    if rule is not None and isinstance(counter, TreeCounter):
        own = (rule.radii if calibration == PAPER else rule.sound_radii(), counter.scale)
    return CentralPrivatizer(question, Act(counter, size), guarantee, calibration, schedule, own)


def _noise(
    rule: Printed | None, question: CountQuestion, guarantee: Guarantee, users: int, calibration: str, name: str
) -> float | None:
    """The noise a paper prints; none is needed in `sound`, but `paper` cannot do without."""
    if rule is not None:
        return rule.noise(question.spec, guarantee, users)
    if calibration == PAPER:
        raise InvalidInput(
            f"No paper prescribes {name} noise here, so there is nothing to reproduce. Use sound or tight."
        )
    return None


def _tight_local(
    question: CountQuestion, guarantee: Guarantee, name: str, choosing: bool
) -> list[tuple[CountQuestion, LocalMechanism]]:
    """What `tight` may choose from under one name; nothing if `auto` is choosing and the name cannot keep the promise."""
    pure_only = guarantee.rho is None and guarantee.delta == 0
    if choosing and (name == "bounded" or (name == "gaussian" and pure_only) or (name != "gaussian" and guarantee.rho)):
        return []
    pairs = question.having(parts=(CENTRED, TRANSITIONS), last=COUNTED)
    if name in ("unary", "k-ary"):
        forms = [pairs.having(levels=1)]
    elif name == "randomised-response":
        forms = [question.having(last=DROPPED, levels=1)]
    else:
        forms = [pairs]
    return [(form, _local(name, form, sensitivity(form), guarantee)) for form in forms]


def _local(
    name: str,
    question: CountQuestion,
    size: Sensitivity,
    guarantee: Guarantee,
    noise: float | None = None,
    calibration: str = SOUND,
) -> LocalMechanism:
    """The mechanism with the least noise for the promise, or with the noise a paper prints (raised, in `sound`, if need be)."""
    unit = 1 / question.resolution
    if name == "gaussian":
        needed = Gaussian.keeping(guarantee, size, unit)
        if noise is None or (calibration == SOUND and needed.sigma >= noise):
            return needed
        return Gaussian(noise, min(needed.grid, _fine(unit, noise)))
    if name == "bounded":
        return Bounded.keeping(guarantee, size, unit)
    epsilon = _pure_epsilon(guarantee, name)
    if name in ("unary", "k-ary"):
        return SampledStep(epsilon, categories(question), UNARY if name == "unary" else KARY)
    if name == "randomised-response":
        least = epsilon / size.l1
        return RandomizedResponse(least if noise is None else noise if calibration == PAPER else min(noise, least))
    least = size.l1 / epsilon
    return Laplace(least if noise is None else noise if calibration == PAPER else max(noise, least), unit)


def _counter(
    name: str,
    question: CountQuestion,
    size: Sensitivity,
    guarantee: Guarantee,
    releases: int,
    noise: float | None = None,
    calibration: str = SOUND,
) -> Counter:
    """The continual counter with the least noise for the promise, or with the noise a paper prints."""
    unit = 1 / question.resolution
    levels = releases.bit_length()
    if name == "tree-laplace":
        least = levels * size.l1 / _pure_epsilon(guarantee, name)
        return TreeCounter(
            releases, "laplace", least if noise is None else noise if calibration == PAPER else max(noise, least), unit
        )
    if name == "tree-gaussian":
        together = math.sqrt(levels) * size.l2
        grid = _fine(unit, sigma_for(guarantee, together, 0.0))
        return TreeCounter(releases, "gaussian", sigma_for(guarantee, together, grid), grid)
    mu = _mu(guarantee)
    # Rounding costs grid * sqrt(releases * cells) of sensitivity: keep that below a thousandth.
    grid = unit
    while grid > 1e-3 * size.l2 / math.sqrt(releases * size.cells):
        grid /= 2
    kind = ToeplitzCounter if name == "toeplitz" else BufferedToeplitzCounter
    return kind(releases, kind.sigma_for(mu, size, releases, grid), grid)


def _fine(unit: float, sigma: float) -> float:
    """The unit, halved until it is fine enough for the Gaussian profile to hold on it."""
    grid = unit
    while grid > sigma / (4 * FINE):
        grid /= 2
    return grid


def _mu(guarantee: Guarantee) -> float:
    if guarantee.rho is not None:
        return math.sqrt(2 * guarantee.rho)
    if guarantee.epsilon is None or guarantee.delta == 0:
        raise InvalidInput("Gaussian noise needs delta above 0. Give a delta such as 1e-6, or use a Laplace mechanism.")
    return gaussian_mu(guarantee.epsilon, guarantee.delta)


def _pure_epsilon(guarantee: Guarantee, name: str) -> float:
    """The epsilon of a mechanism that spends no delta; rho allows sqrt(2 rho) (Bun and Steinke 2016), or rho if larger."""
    if guarantee.rho is not None:
        return max(math.sqrt(2 * guarantee.rho), guarantee.rho)
    if guarantee.epsilon is None:
        raise InvalidInput(f"{name} needs a promise to keep. Give epsilon.")
    return guarantee.epsilon


def _size_of(mechanism: LocalMechanism) -> float:
    """The parameter that the papers' radius formulas are stated in: scale, sigma or epsilon a bit."""
    match mechanism:
        case Laplace():
            return mechanism.scale
        case Gaussian():
            return mechanism.sigma
        case RandomizedResponse():
            return mechanism.bit_epsilon
    raise InvalidInput(f"No paper states radii for {mechanism.name}. Use tight.")
