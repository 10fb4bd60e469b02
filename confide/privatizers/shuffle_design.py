"""From a promise to a shuffled privatizer: which bits, how much noise, in three calibrations; and the same solved backwards.

`sound`: the bits of M_sh, in disjoint batches. `tight`: whichever of these adds least noise: M_sh; M_sh without visit bits,
which are rows of transitions; one sampled step. `paper`: M_sh, with the whole history shuffled anew before every episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .. import validation
from ..errors import InvalidInput
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.shuffled_bits import ShuffledBits
from ..privacy import Act, Certificate, Guarantee, Schedule, Sensitivity
from ..privacy.crowds import calibrated, smallest_crowd, with_local
from ..privacy.guarantee import LOCAL
from ..privacy.schedule import SIZE
from ..privacy.shuffling import shuffled_loss
from ..releases import CountQuestion
from ..releases.question import COUNTED, DROPPED, END, REWARDS, TRANSITIONS, VISITS
from ..releases.reading import backup_variance, categories
from ..releases.shuffled_obi import BITS_A_STEP, claimed_epsilon, printed_bit_epsilon, printed_radii
from ..statistics import sensitivity
from ..statistics.bits import bit_sensitivity
from .local import ASSUMPTIONS, LocalPrivatizer
from .shuffle import Mixing, ShufflePrivatizer, heard

BITS, STEP = "shuffled-bits", "shuffled-step"
SHUFFLE_MECHANISMS = (BITS, STEP)
# Which part of delta is set aside for crowds that turn out too small.
SET_ASIDE = 1e-3


def design_shuffle(
    question: CountQuestion, guarantee: Guarantee, schedule: Schedule, calibration: str, mechanism: str, mixing: Mixing
) -> ShufflePrivatizer | LocalPrivatizer:
    """The privatizer for a promise that devices and shufflers keep together."""
    if mechanism != "auto":
        validation.choice("mechanism", mechanism, SHUFFLE_MECHANISMS)
    epsilon = _epsilon(guarantee)
    if mixing.local_epsilon is not None and mixing.local_epsilon <= epsilon:
        raise InvalidInput(
            f"local_epsilon must be above the epsilon of the sums, {epsilon:g}: at {mixing.local_epsilon:g} devices keep the "
            "promise by themselves, and shuffling adds nothing. Choose trust local."
        )
    question = question.having(levels=mixing.reward_bits)
    if calibration == "paper":
        return _reshuffled(question, guarantee, schedule, mixing)
    if schedule.kind != SIZE or int(schedule.parameter) != mixing.batch or schedule.burn_in:
        raise InvalidInput(
            f"Under shuffling the policy may change only between batches of {mixing.batch:,} people. "
            f"Got {schedule}. Use Schedule.sized(users, batch), or leave it out of the command."
        )
    plain = question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED)
    pairs = question.having(last=END if question.last == END else COUNTED)
    forms = [(plain, False)]
    if calibration != "sound":
        forms.append((pairs.having(parts=(REWARDS, TRANSITIONS)), False))
    if mechanism == STEP or (calibration != "sound" and mixing.reward_bits == 1 and not mixing.tree):
        forms.append((pairs.having(parts=(REWARDS, TRANSITIONS)), True))
    wanted = [(form, sampled) for form, sampled in forms if mechanism == "auto" or sampled == (mechanism == STEP)]
    made, refused = [], []
    for form, sampled in wanted:
        try:
            made.append(_made(form, guarantee, schedule, calibration, mixing, sampled))
        except InvalidInput as error:  # a batch may be too small for some bits and not for others
            refused.append(error)
    if not made:
        raise refused[0]
    return min(made, key=lambda one: backup_variance(one.question, one.devices[0]))


def _made(
    question: CountQuestion, guarantee: Guarantee, schedule: Schedule, calibration: str, mixing: Mixing, sampled: bool
) -> ShufflePrivatizer:
    """The privatizer with given bits: with the noise that was asked for, else with the least that keeps the promise."""
    if sampled and mixing.tree:
        raise InvalidInput("A tree of shufflers takes whole episodes. Choose the mechanism shuffled-bits, or no tree.")
    size = bit_sensitivity(question, sampled)
    changed, spec = round(size.l1), question.spec
    missing = _set_aside(question, guarantee, sampled)
    levels = (schedule.users // mixing.batch).bit_length() if mixing.tree else 1
    people = tuple(heard(mixing.honest_in(mixing.batch << level), spec, sampled, missing) for level in range(levels))
    epsilon = _epsilon(guarantee)
    if mixing.local_epsilon is None:
        crowds = calibrated(people, changed, epsilon, guarantee.delta, missing)
    else:
        crowds = with_local(people, changed, mixing.local_epsilon)
        if shuffled_loss(crowds, changed, missing).delta(epsilon) > guarantee.delta:
            refused = f"A batch of {mixing.batch:,} people is too small for {guarantee} at local epsilon "
            way_out = "Take larger batches, or a smaller local epsilon."
            if not mixing.tree:
                least = smallest_batch(question, guarantee, mixing.local_epsilon, sampled, mixing.share)
                way_out = f"The smallest that works is {least:,}."
            raise InvalidInput(f"{refused}{mixing.local_epsilon:g}. {way_out}")
    mechanism = ShuffledBits(crowds, missing, categories(question) if sampled else 0)
    return ShufflePrivatizer(question, Act(mechanism, size), guarantee, calibration, schedule, mixing)


def smallest_batch(
    question: CountQuestion, guarantee: Guarantee, local: float, sampled: bool = False, share: float = 1.0
) -> int:
    """The smallest batch whose sums keep the promise when devices keep `local` and a share of people is honest."""
    changed, spec = round(bit_sensitivity(question, sampled).l1), question.spec
    missing = _set_aside(question, guarantee, sampled)
    needed = smallest_crowd(local / changed, changed, _epsilon(guarantee), guarantee.delta - missing)
    batch = math.ceil(needed / share)
    while heard(int(share * batch + 1e-9), spec, sampled, missing) < needed:
        batch += max(1, batch // 100)
    return max(batch, 2)


def _set_aside(question: CountQuestion, guarantee: Guarantee, sampled: bool) -> float:
    """Which part of delta pays for crowds that are too small; how many draw the same step is chance."""
    return SET_ASIDE * guarantee.delta if sampled and question.spec.layers > 1 else 0.0


def _epsilon(guarantee: Guarantee) -> float:
    if guarantee.epsilon is None:
        raise InvalidInput("Shuffling is accounted for in epsilon and delta, not rho. Give epsilon and delta.")
    return guarantee.epsilon


@dataclass(frozen=True)
class ReshuffledPrivatizer(LocalPrivatizer):
    """The paper's protocol: all reports so far, permuted anew before every episode. Only the local guarantee is true.

    Two consecutive releases differ by exactly one report, and differences of releases show it; so whatever one release
    promises, two do not. To a learner the permutation makes no difference: it adds up the reports.
    """

    claim: str = ""

    def certificate(self, noise: str) -> Certificate:
        """The local guarantee alone, and why."""
        why = (
            f"no guarantee of shuffling: the paper claims {self.claim}, but shuffles the whole history anew before every "
            "episode, so that consecutive releases differ by exactly one person's report"
        )
        return Certificate.of([self.act], self.asked, self.calibration, noise, (why, *ASSUMPTIONS))


def _reshuffled(
    question: CountQuestion, guarantee: Guarantee, schedule: Schedule, mixing: Mixing
) -> ReshuffledPrivatizer:
    """M_sh with the paper's noise: that of the local epsilon, else that for which Proposition 5 claims the promise."""
    if mixing.reward_bits > 1:
        raise InvalidInput("The paper's Theorem 6 is about one reward bit. Use reward_bits 1, or another calibration.")
    question = question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED)
    spec, epsilon = question.spec, _epsilon(guarantee)
    if mixing.local_epsilon is not None:
        bit = mixing.local_epsilon / (BITS_A_STEP * spec.horizon)
    else:
        bit = printed_bit_epsilon(spec, epsilon, guarantee.delta, mixing.burn_in)
    mechanism = RandomizedResponse(bit)
    size: Sensitivity = sensitivity(question)
    claimed = claimed_epsilon(mechanism.flip, max(mixing.burn_in, 1), spec.horizon, guarantee.delta or 1e-6)
    claim = f"({claimed:.3g}, {guarantee.delta or 1e-6:g})-joint DP"
    # Lemma 4 charges (4 + 2m)H bits, two more than can change.
    asked = replace(guarantee, trust=LOCAL, epsilon=bit * BITS_A_STEP * spec.horizon, delta=0.0)
    own = (printed_radii, bit)
    return ReshuffledPrivatizer(question, Act(mechanism, size), asked, "paper", schedule.users, own, claim)
