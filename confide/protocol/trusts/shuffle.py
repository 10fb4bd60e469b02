"""Trust in a shuffler between devices and a server: which bits, how much noise, in three calibrations; and solved backwards.

**Disjoint batches** (`sound`, `tight`). Each person is in exactly one batch, and acts on sums of other batches that were given out
before; in a simulation the policy changes only between batches. Why this is jointly private: what others are recommended is a
function of the sums and of their own data (billboard lemma). Given all sums that were given out before hers, everyone in her batch
does the same whatever her data are, so her batch's sums are bits of one changed person among fixed others, which
`privacy.shuffling` bounds for *any* others; later sums depend on her through these alone.

**Batches that widen.** The noise of a batch's sums hardly depends on how many are in it: the more there are, the less noise
each person needs. So the first batches are small, to learn soon, and later ones of 2, 4, 8 ... times as many people
(`Schedule.doubling`), each with flips of its own size. The argument above holds batch by batch; a person is charged the
worst batch that there is.

**Users who come again.** Somebody in m batches is charged m times: given the sums before each of them, hers are bits of one changed
person among fixed others again, so the losses of her batches compose: they are those of m times as many bits. Which ones these are
must not depend on her episodes.

**A tree of shufflers.** A person of base batch t also reports, with fresh flips, to the shuffler of every level l whose node of 2^l
base batches that contains t is a left child. Running counts add up the nodes of the binary digits of t, so their noise grows with
the logarithm of t and not with its root. She is in at most floor(log2 M) + 1 nodes of M base batches, all of which are charged.

`sound`: the bits of M_sh, in disjoint batches. `tight`: whichever of these adds least noise: M_sh; M_sh without visit bits,
which are rows of transitions; one sampled step. `paper`: M_sh, with the whole history shuffled anew before every episode,
of which only the local guarantee is true: two consecutive releases differ by exactly one report, and their difference shows
it; so whatever one release promises, two do not. To a learner the permutation makes no difference: it adds up the reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ... import validation
from ...errors import InvalidInput
from ...mdp import Spec
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.shuffled_bits import ShuffledBits
from ...privacy import Act, Guarantee, repeat
from ...privacy.crowds import calibrated, smallest_crowd, with_local
from ...privacy.guarantee import LOCAL, SHUFFLE
from ...privacy.schedule import STEADY
from ...privacy.shuffling import ShuffledCrowd, shuffled_loss
from ..design import AUTO, PAPER, SOUND, Design, Request, check_noise
from ..kinds import CountQuestion, Question, StepQuestion, asked, counts
from ..kinds.bits import BitQuestion
from ..kinds.counts import COUNTED, DROPPED, END, REWARDS, TRANSITIONS, VISITS, average_visits
from ..kinds.kind import DesignMaker
from ..laws import Law, PeoplesNoise, SumsNoise
from ..releases.release import BATCHES, PEOPLES
from ..shuffled_obi import PAPER_NAME, bits_a_step, claimed_epsilon, printed_bit_epsilon
from .mixing import BEYOND, Mixing, people_in_sum
from .trust import People, ReportMaker, Trust, register

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..releases.books import Book
    from ..releases.shuffler import Submission

BITS, STEP = "shuffled-bits", "shuffled-step"
MECHANISMS = (BITS, STEP)
# Which part of delta is set aside for crowds that turn out too small.
SET_ASIDE = 1e-3
# The part of delta by which m batches of so many bits and one of m times as many may differ as they are computed.
ROUNDED = 1e-5
# How many standard deviations of their noise the visits of the average pair are in a first batch; chosen on tuning worlds.
SHOWN = 5.0

ShuffledQuestion = BitQuestion | StepQuestion


def design_shuffle(request: Request) -> Design:
    """Counts whose promise devices and shufflers keep together."""
    promise, mixing = request.promise, request.mixing
    if mixing is None:
        raise InvalidInput("batch-unsaid", "Trust shuffle needs to know how people are mixed. Give a batch.")
    if request.mechanism != AUTO:
        validation.choice("mechanism", request.mechanism, MECHANISMS)
    epsilon = _epsilon(promise)
    if mixing.local_epsilon is not None and mixing.local_epsilon <= epsilon:
        raise InvalidInput(
            "local-epsilon-not-above",
            f"local_epsilon must be above the epsilon of the sums, {epsilon:g}: at {mixing.local_epsilon:g} devices keep the "
            "promise by themselves, and shuffling adds nothing. Choose trust local.",
        )
    question = request.question.having(levels=mixing.reward_bits)
    if request.calibration == PAPER:
        return _paper_design(question, request, mixing)
    schedule = request.schedule
    if schedule != mixing.schedule(schedule.users):
        raise InvalidInput(
            "shuffle-schedule",
            f"Under shuffling the policy may change only between batches of {mixing.batch:,} people"
            f"{' and more' if mixing.widening else ''}. Got {schedule}. Use {mixing.schedule(schedule.users)}, "
            "or leave it out of the command.",
        )
    designs, refused = [], []
    for form in _forms(question, request, mixing):
        try:
            design = _with_noise(form, request, mixing)
        except InvalidInput as error:  # a batch may be too small for some bits and not for others
            refused.append(error)
            continue
        if request.mechanism != AUTO or request.can(form, design.mechanism):
            designs.append(design)
    if not designs:
        raise refused[0]
    return min(designs, key=lambda design: design.kind.backup_variance(design.question, design.devices[0]))


def first_batch(spec: Spec, promise: Guarantee, users: int) -> int:
    """How many people the first batches have where batches widen: so many that they show the average pair.

    Its visits are then about `SHOWN` standard deviations of their noise, in the Gaussian limit; fewer people if so many
    never come. A service issues tickets beyond a batch (`BEYOND`), as some holders are absent: sizes are rounded such that
    everybody who takes a ticket is in a full batch.
    """
    question = BitQuestion(CountQuestion(spec, (REWARDS, TRANSITIONS), COUNTED))
    flips = spec.states * (spec.horizon if spec.layers == 1 else 1)  # in the visits of a pair, a person
    noise = math.sqrt(flips * question.price().l1) / promise.mu()
    doublings = math.floor(math.log2(max(1.0, users * average_visits(spec) / (STEADY * SHOWN * noise))))
    return max(2, int((users // (STEADY << doublings)) / (1 + BEYOND)))


def _forms(question: CountQuestion, request: Request, mixing: Mixing) -> list[ShuffledQuestion]:
    """The forms of report to choose from: the paper's; without visits, which are rows of transitions; one sampled step."""
    name, sound = request.mechanism, request.calibration == SOUND
    pairs = question.having(parts=(REWARDS, TRANSITIONS), last=END if question.last == END else COUNTED)
    forms: list[ShuffledQuestion] = [BitQuestion(question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED))]
    if not sound:
        forms.append(BitQuestion(pairs))
    several = mixing.tree or mixing.widening
    if name == STEP and several:
        raise InvalidInput(
            "tree-needs-shuffled-bits",
            "Shufflers of several sizes take whole episodes. Choose the mechanism shuffled-bits, or give a batch and no tree.",
        )
    stepwise = name == STEP or (not sound and mixing.reward_bits == 1 and not several)
    if name == STEP:
        forms = []
    if stepwise and name != BITS:
        forms.append(StepQuestion(pairs))
    return forms


def _with_noise(question: ShuffledQuestion, request: Request, mixing: Mixing) -> Design:
    """The design for one form of report: with the noise that was requested, else with the least that keeps the promise."""
    promise, size = request.promise, question.price()
    changed = round(size.l1)
    missing = _set_aside(question, promise)
    people = _crowds(question, mixing, request.schedule.users, missing)
    epsilon, apart, times = _epsilon(promise), mixing.widening, request.participation.times
    if mixing.local_epsilon is None:
        allowed = promise.delta if times == 1 else promise.delta * (1 - ROUNDED)
        crowds = calibrated(people, times * changed, epsilon, allowed, times * missing, apart)
    else:
        crowds = with_local(people, changed, mixing.local_epsilon / times, apart)
        if repeat(shuffled_loss(crowds, changed, missing, apart), times).delta(epsilon) > promise.delta:
            refused = f"A batch of {mixing.batch:,} people is too small for {promise} at local epsilon "
            way_out = "Take larger batches, or a smaller local epsilon."
            if not mixing.tree and times == 1:
                least = smallest_batch(question, promise, mixing.local_epsilon, mixing.share)
                way_out = f"The smallest that works is {least:,}."
            raise InvalidInput("batch-too-small", f"{refused}{mixing.local_epsilon:g}. {way_out}")
    return request.design(question, Act(ShuffledBits(crowds, missing, _categories(question), apart), size, times))


def _crowds(question: Question, mixing: Mixing, users: int, missing: float) -> tuple[int, ...]:
    """How many honest people are in the sums of each level."""
    sizes = (mixing.batch << level for level in range(mixing.levels(users)))
    return tuple(_people_in_sum(question, mixing.honest_in(size), missing) for size in sizes)


def _check(design: Design) -> None:
    """Refuse a design whose crowds are larger than its batches."""
    mechanism, mixing = design.mechanism, _mixing(design)
    if not hasattr(mechanism, "crowds"):
        raise InvalidInput(
            "mechanism-not-for-trust",
            f"The mechanism {mechanism.name} does not serve trust {design.trust!r}. Choose another.",
        )
    stated = tuple(crowd.people for crowd in mechanism.crowds)
    expected = _crowds(design.question, mixing, design.schedule.users, mechanism.missing)
    if stated != expected or mechanism.apart != mixing.widening:
        raise InvalidInput(
            "crowds-of-other-batches", "The crowds of the mechanism are not those of the batches. Make it again."
        )
    for device in design.devices:
        check_noise(design, "randomize", device)


def _categories(question: Question) -> int:
    """How many categories a sampled step has; 0 if a report is about the whole episode."""
    return question.width if question.kind == "step" else 0


def _people_in_sum(question: Question, honest: int, missing: float) -> int:
    """How many of so many honest people are in one sum. Of asked pairs each has a sum of its own, and a law may ask one person
    alone about a pair: then nobody else is in it.
    """
    if question.kind == asked.KIND:
        return 1
    return people_in_sum(honest, question.spec, _categories(question) > 0, missing)


def smallest_batch(question: ShuffledQuestion, promise: Guarantee, local: float, share: float = 1.0) -> int:
    """The smallest batch whose sums keep the promise when devices keep `local` and a share of people is honest."""
    changed = round(question.price().l1)
    missing = _set_aside(question, promise)
    needed = smallest_crowd(local / changed, changed, _epsilon(promise), promise.delta - missing)
    batch = math.ceil(needed / share)
    while _people_in_sum(question, int(share * batch + 1e-9), missing) < needed:
        batch += max(1, batch // 100)
    return max(batch, 2)


def _set_aside(question: ShuffledQuestion, promise: Guarantee) -> float:
    """The part of delta that pays for crowds that are too small: how many people draw the same step is chance."""
    return SET_ASIDE * promise.delta if _categories(question) and question.spec.layers > 1 else 0.0


def _epsilon(promise: Guarantee) -> float:
    if promise.epsilon is None:
        raise InvalidInput(
            "shuffle-in-rho", "Shuffling is accounted for in epsilon and delta, not rho. Give epsilon and delta."
        )
    return promise.epsilon


def _paper_design(question: CountQuestion, request: Request, mixing: Mixing) -> Design:
    """M_sh with the paper's noise: that of the local epsilon, else that for which Proposition 5 claims the promise."""
    counts, promise, m = (
        question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED),
        request.promise,
        mixing.reward_bits,
    )
    form = counts if m == 1 else BitQuestion(counts)
    spec, epsilon, charged = counts.spec, _epsilon(promise), bits_a_step(m) * counts.spec.horizon
    if mixing.local_epsilon is not None:
        bit = mixing.local_epsilon / charged
    else:
        bit = printed_bit_epsilon(spec, epsilon, promise.delta, mixing.burn_in, m)
    mechanism = RandomizedResponse(bit)
    claimed = claimed_epsilon(mechanism.flip, max(mixing.burn_in, 1), spec.horizon, promise.delta or 1e-6, m)
    why = (
        f"no guarantee of shuffling: the paper claims ({claimed:.3g}, {promise.delta or 1e-6:g})-joint DP, but shuffles the "
        "whole history anew before every episode, so that consecutive releases differ by exactly one person's report"
    )
    # Lemma 4 charges (4 + 2m)H bits, two more than can change.
    requested = replace(promise, trust=LOCAL, epsilon=bit * charged, delta=0.0)
    return request.design(form, Act(mechanism, form.price()), requested=requested, paper=PAPER_NAME, remarks=(why,))


def local_guarantee(design: Design) -> Guarantee:
    """The guarantee that each device keeps by itself, whoever the shuffler works with."""
    alone = repeat(design.mechanism.local_loss(design.act.sensitivity), design.act.times).epsilon(0.0)
    return replace(design.requested, trust=LOCAL, epsilon=alone, delta=0.0)


def remaining(design: Design, honest: int) -> Guarantee:
    """The guarantee if only so many people of every base batch are honest: at worst what devices keep by themselves."""
    mechanism = design.mechanism
    honest = validation.integer("honest", honest, 1, _mixing(design).batch)
    crowds = tuple(
        ShuffledCrowd(crowd.flip, _people_in_sum(design.question, honest << level, mechanism.missing))
        for level, crowd in enumerate(mechanism.crowds)
    )
    loss = shuffled_loss(crowds, round(design.act.sensitivity.l1), mechanism.missing, mechanism.apart)
    epsilon = repeat(loss, design.act.times).epsilon(design.requested.delta)
    alone = local_guarantee(design)
    return replace(design.requested, epsilon=epsilon) if epsilon < (alone.epsilon or 0.0) else alone


def _mixing(design: Design) -> Mixing:
    if design.mixing is None:
        raise InvalidInput("design-without-shufflers", "This design has no shufflers.")
    return design.mixing


def noise_of_sums(design: Design, people: Sequence[ArrayLike]) -> Law:
    """The noise of the sums of every level, over so many people each."""
    own = BATCHES if _mixing(design).widening else PEOPLES
    if len(design.devices) == 1:
        return PeoplesNoise(design.devices[0], people[0], own)
    return SumsNoise(design.devices, people, own)


class ShuffleTrust(Trust):
    """Devices randomise, shufflers add up full batches, and a server sees their sums."""

    name = SHUFFLE
    attack = SHUFFLE
    scheduled = True
    mechanisms = MECHANISMS

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, in bits or by a sampled step."""
        return {counts.KIND: design_shuffle}

    def law(self, design: Design, people: People) -> Law:
        """The noise of the full batches among so many people; in a tree, of the nodes of the binary digits of their number."""
        mixing = _mixing(design)
        full = people.astype(np.int64) // mixing.batch
        if len(design.devices) == 1:
            return noise_of_sums(design, [full * float(mixing.batch)])
        return noise_of_sums(
            design, [mixing.covered(level, full) * float(mixing.batch) for level in range(len(design.devices))]
        )

    def devices(self, design: Design) -> tuple[Randomizer, ...]:
        """One randomised report to the shuffler of each level."""
        devices: tuple[Randomizer, ...] = design.mechanism.on_device()
        return devices

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """The assumptions of the sums' promise; that of the devices rests on the last three alone."""
        mixing = _mixing(design)
        batch, honest = mixing.batch, mixing.honest_in(mixing.batch)
        half = honest // 2
        nodes = f", and one of each of up to {len(design.devices) - 1} larger nodes" if mixing.tree else ""
        again = ", each time they take part, in another one" if design.act.times > 1 else ""
        later = (
            f"; later batches are up to {1 << len(design.devices) - 1} times as large, with as large a share"
            if mixing.widening
            else ""
        )
        return (
            "the shuffler gives out nothing but sums of full batches, and does not work with the server",
            f"at least {honest:,} of the {batch:,} people of a batch are honest{later}; "
            f"with {half:,} of them {remaining(design, half)} is left",
            f"each person is in one batch{nodes}{again}; nobody acts on sums of their own batch; a short last batch is held",
            *design.question.assumptions,
            "every device draws its own noise and sends each report once",
        )

    def further(self, design: Design) -> tuple[Guarantee, ...]:
        """What devices keep by themselves."""
        return (local_guarantee(design),)

    def check(self, design: Design) -> None:
        """Refuse a design whose crowds are larger than its batches."""
        _check(design)

    def local_guarantee(self, design: Design) -> Guarantee:
        """The guarantee that each device keeps by itself, whoever the shuffler works with."""
        return local_guarantee(design)

    def open_book(self, design: Design) -> Book:
        """All shufflers of a design, and the sums of theirs that a server keeps."""
        from ..releases.shuffler import ShuffleBook

        return ShuffleBook(design)

    def addressed(self, design: Design, batch: int, report: ReportMaker) -> tuple[Submission, ...]:
        """One report to each of the shufflers of a person's group, flipped afresh."""
        from ..releases.shuffler import Submission

        return tuple(Submission(first, report(level)) for first, level in design.batches_of(batch))


register(ShuffleTrust())
