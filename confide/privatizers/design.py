"""From a promise to a privatizer: which question, which mechanism, how much noise, in three calibrations.

`paper`: question, mechanism and noise as a paper prints them; the certificate states what that truly gives. `sound`:
the same with the noise multiplied by the one factor, at least 1, that makes the claim true. `tight`: the least noise
known to us for the promise, on the question that needs least.
"""

from __future__ import annotations

import math

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..mechanisms import registry
from ..mechanisms.bounded import Bounded
from ..mechanisms.buffered import BufferedToeplitzCounter
from ..mechanisms.counter import LARGEST_TOTAL, Counter
from ..mechanisms.gaussian import FINE, Gaussian, sigma_for
from ..mechanisms.laplace import Laplace
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.toeplitz import ToeplitzCounter
from ..mechanisms.tree import TreeCounter
from ..mechanisms.unary import KARY, UNARY, SampledStep
from ..privacy import Act, Guarantee, Schedule, Sensitivity, keeps, settled
from ..privacy.conversion import gaussian_mu
from ..privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE
from ..releases import CountQuestion
from ..releases.papers import Printed, printed
from ..releases.question import CENTRED, DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS
from ..releases.reading import LocalMechanism, backup_variance, categories
from ..statistics import sensitivity
from .central import CentralPrivatizer
from .local import LocalPrivatizer
from .shuffle import Mixing, ShufflePrivatizer

PAPER, SOUND, TIGHT = "paper", "sound", "tight"
"""Calibrations: a paper's noise; that raised until its claim is true; the least that we know."""
AUTO = "auto"
LOCAL_MECHANISMS = ("laplace", "gaussian", "randomised-response", "bounded", "unary", "k-ary")
SAMPLED = ("unary", "k-ary")
CENTRAL_MECHANISMS = ("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz")
# Up to this many cells times releases the plain Toeplitz counter keeps its history; beyond, the buffered one.
PLAIN_TOEPLITZ = 1 << 17


def design(
    question: CountQuestion,
    guarantee: Guarantee,
    schedule: Schedule,
    calibration: str = TIGHT,
    mechanism: str = AUTO,
    paper: str = "",
    mixing: Mixing | None = None,
) -> LocalPrivatizer | CentralPrivatizer | ShufflePrivatizer:
    """The privatizer for a promise; `paper` names whose constants `paper` and `sound` use, `mixing` the shufflers."""
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    if guarantee.trust in (LOCAL, JOINT, CENTRAL):
        made: LocalPrivatizer | CentralPrivatizer
        if guarantee.trust == LOCAL:
            made = design_local(question, guarantee, schedule.users, calibration, mechanism, paper)
        else:
            made = design_central(question, guarantee, schedule, calibration, mechanism, paper)
        if calibration != PAPER and not keeps(made.act.loss, guarantee):
            raise PrivacyError(f"Calibration failed to keep {guarantee}; nothing was released. Please report this.")
        return made
    if guarantee.trust == SHUFFLE and mixing is not None:
        from .shuffle_design import design_shuffle

        return design_shuffle(question, guarantee, schedule, calibration, mechanism, mixing)
    raise InvalidInput(
        f"There is no privatizer for trust {guarantee.trust!r} here. "
        "Choose local, joint or central, or shuffle with a batch."
    )


def design_local(
    question: CountQuestion, guarantee: Guarantee, users: int, calibration: str, mechanism: str, paper: str
) -> LocalPrivatizer:
    """A privatizer that runs on a device."""
    if mechanism not in (AUTO, *LOCAL_MECHANISMS):
        validation.choice("mechanism", mechanism, (*LOCAL_MECHANISMS, *registry.names()))
    if calibration == TIGHT:
        names = [name for name in LOCAL_MECHANISMS if _worth_trying(name, guarantee)]
        forms = [(_tight_form(question, name), name) for name in (names if mechanism == AUTO else [mechanism])]
        options = [(form, _local(name, form, sensitivity(form), guarantee)) for form, name in forms]
        asked, made = min(options, key=lambda option: backup_variance(*option))
        return LocalPrivatizer(asked, Act(made, sensitivity(asked)), guarantee, calibration, users)
    name = "laplace" if mechanism == AUTO else mechanism
    if name in SAMPLED:
        question = _tight_form(question, name)  # the only form these know; no paper prescribes another
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
        asked = _tight_form(question, mechanism)
        size = sensitivity(asked)
        name = mechanism
        if name == AUTO:
            plain = schedule.releases * asked.cells <= PLAIN_TOEPLITZ
            name = "tree-laplace" if guarantee.pure else "toeplitz" if plain else "buffered-toeplitz"
        counter = _counter(name, asked, size, guarantee, schedule)
        return CentralPrivatizer(asked, Act(counter, size), guarantee, calibration, schedule)
    name = "tree-laplace" if mechanism == AUTO else mechanism
    rule = printed(paper, JOINT, name)
    size = sensitivity(question)
    noise = _noise(rule, question, guarantee, schedule.users, calibration, name)
    counter = _counter(name, question, size, guarantee, schedule, noise, calibration)
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


def _worth_trying(name: str, guarantee: Guarantee) -> bool:
    """Whether `auto` should look at a mechanism: rho is for Gaussian noise, which bounded noise never beats."""
    if name == "gaussian":
        return not guarantee.pure
    return name != "bounded" and guarantee.rho is None


def _tight_form(question: CountQuestion, name: str) -> CountQuestion:
    """The question that needs least noise, and from which everything else can be derived.

    Centred rewards and transitions, or for randomised response, which takes only bits, visits, rewards and transitions.
    Squares are derived from rewards of 0 and 1. `end` stays: the state after the last step may be unknown.
    """
    levels = 1 if SQUARES in question.parts or name in (*SAMPLED, "randomised-response") else question.levels
    if name == "randomised-response":
        return question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED, levels=levels)
    return question.tight(levels)


def _local(
    name: str,
    question: CountQuestion,
    size: Sensitivity,
    guarantee: Guarantee,
    noise: float | None = None,
    calibration: str = SOUND,
) -> LocalMechanism:
    """The mechanism with the least noise for the promise, or with a paper's noise (raised, in `sound`, if need be)."""
    unit = 1 / question.resolution
    if name not in LOCAL_MECHANISMS:
        return registry.make(name, size, guarantee, unit)
    if name == "gaussian":
        needed = Gaussian.keeping(guarantee, size, unit)
        if noise is None or (calibration == SOUND and needed.sigma >= noise):
            return needed
        return Gaussian(noise, min(needed.grid, _fine(unit, noise)))
    if name == "bounded":
        return Bounded.keeping(guarantee, size, unit)
    epsilon = _pure_epsilon(guarantee, name)
    if name in SAMPLED:
        return SampledStep(epsilon, categories(question), UNARY if name == "unary" else KARY)
    if name == "randomised-response":
        if CENTRED in question.parts or question.levels > 1:
            raise InvalidInput("Randomised response takes bits. Ask for visits, rewards, transitions at one level.")
        least = settled(epsilon / size.l1, lambda bit: bit * size.l1 <= epsilon, 0.0)
        return RandomizedResponse(least if noise is None else noise if calibration == PAPER else min(noise, least))
    least = settled(size.l1 / epsilon, lambda scale: size.l1 / scale <= epsilon, math.inf)
    return Laplace(least if noise is None else noise if calibration == PAPER else max(noise, least), unit)


def _counter(
    name: str,
    question: CountQuestion,
    size: Sensitivity,
    guarantee: Guarantee,
    schedule: Schedule,
    noise: float | None = None,
    calibration: str = SOUND,
) -> Counter:
    """The continual counter with the least noise for the promise, or with the noise a paper prints."""
    unit, releases = 1 / question.resolution, schedule.releases
    levels, finest = releases.bit_length(), _finest(question, schedule.users)
    if unit < finest:
        raise InvalidInput(
            f"{schedule.users:,} people are too many to count exactly. Use fewer levels, or fewer people."
        )
    if name == "tree-laplace":
        epsilon, change = _pure_epsilon(guarantee, name), levels * size.l1
        least = settled(change / epsilon, lambda scale: change / scale <= epsilon, math.inf)
        return TreeCounter(
            releases, "laplace", least if noise is None else noise if calibration == PAPER else max(noise, least), unit
        )
    if name == "tree-gaussian":
        together = math.sqrt(levels) * size.l2
        grid = _fine(unit, max(sigma_for(guarantee, together, 0.0), 8 * FINE * finest))
        return TreeCounter(releases, "gaussian", sigma_for(guarantee, together, grid), grid)
    mu = _mu(guarantee)
    # Rounding costs grid * sqrt(releases * cells) of sensitivity: keep that below a thousandth, if totals still fit.
    grid = unit
    while grid > max(1e-3 * size.l2 / math.sqrt(releases * size.cells), 2 * finest):
        grid /= 2
    kind = ToeplitzCounter if name == "toeplitz" else BufferedToeplitzCounter
    return kind(releases, kind.sigma_for(mu, size, releases, grid), grid)


def _finest(question: CountQuestion, users: int) -> float:
    """The finest grid on which no total of a cell can outgrow a counter, whatever people do."""
    most = users * (question.spec.horizon if question.spec.layers == 1 else 1)
    return most / LARGEST_TOTAL


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
    """The epsilon of a mechanism without delta; rho allows sqrt(2 rho) (Bun and Steinke 2016), or rho if larger."""
    if guarantee.rho is not None:
        rho = guarantee.rho
        return settled(max(math.sqrt(2 * rho), rho), lambda epsilon: min(epsilon**2 / 2, epsilon) <= rho, 0.0)
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
