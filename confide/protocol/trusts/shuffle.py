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

**Users who come again.** A user in m batches is charged m times: given the sums before each of them, hers are bits of one changed
person among fixed others again, so the losses of her batches compose: they are those of m times as many bits. Which ones these are
must not depend on her episodes.

**A tree of shufflers.** A person of base batch t also reports, with fresh flips, to the shuffler of every level l whose node of 2^l
base batches that contains t is a left child. Running counts add up the nodes of the binary digits of t, so their noise grows with
the logarithm of t and not with its root. She is in at most floor(log2 M) + 1 nodes of M base batches, all of which are charged.

**Shares of noise instead of bits** (`mechanisms.skellam`). Every device sends the budgeted counts that a curator would count (of
a single step the counts of `bandit`), in whole numbers, with a share of noise on every cell; the shares of a batch's honest people
add up to the noise that hides one of them. The argument for disjoint batches is the same, with the account of `privacy.skellam` in
place of that of bits. The noise is about that of a curator's single release, a fraction of that of bits; but a shuffler who looks
at single reports sees them all but bare. So the certificate says that there is no guarantee against it.

`sound`: the bits of M_sh, in disjoint batches. `tight`: whichever of these adds least noise: M_sh; M_sh without visit bits,
which are rows of transitions; one sampled step; shares of noise. `paper`: M_sh, with the whole history shuffled anew before every
episode, of which only the local guarantee is true: two consecutive releases differ by exactly one report, and their difference
shows it; so whatever one release guarantees, two do not. To a learner the permutation makes no difference: it adds up the reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY, Spec
from ...mechanisms import registry
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.shuffled_bits import ShuffledBits
from ...mechanisms.skellam import SkellamShares, cut_off
from ...privacy import Act, Guarantee, repeat
from ...privacy.guarantee import LOCAL, SHUFFLE
from ...privacy.schedule import STEADY
from ...privacy.shuffled_bits import calibrated, smallest_crowd, with_local
from ...privacy.shuffling import shuffled_loss
from ...privacy.skellam import least_rate
from ..design import AUTO, PAPER, SOUND, TIGHT, Design, Request, check_noise
from ..kinds import CountQuestion, Question, StepQuestion, bandit, budgeted, counts
from ..kinds.bandit import BanditQuestion
from ..kinds.bits import BitQuestion
from ..kinds.budgeted import BudgetedQuestion
from ..kinds.counts import COUNTED, DROPPED, END, REWARDS, SINGLE_STEP, TRANSITIONS, VISITS, average_visits
from ..kinds.kind import DesignMaker
from ..kinds.kind import find as find_kind
from ..laws import Law, PeoplesNoise, SumsNoise
from ..releases.release import BATCHES, PEOPLES
from ..shuffled_obi import PAPER_NAME, bits_a_step, claimed_epsilon, printed_bit_epsilon
from .budgets import MOST_WALKED
from .mixing import BEYOND, Mixing, people_in_sum
from .trust import People, ReportMaker, Trust, register

if TYPE_CHECKING:
    from ...mechanisms.randomizer import Randomizer
    from ..kinds.moments import Clipped
    from ..releases.aggregates import Aggregate
    from ..releases.shuffler import Submission

MOMENTS, TARGETS = "moments", "targets"
"""The kind of sums of features, which are rounded to a grid."""
BITS, STEP, SHARES = "shuffled-bits", "shuffled-step", "skellam"
MECHANISMS = (BITS, STEP, SHARES)
MOST_CELLS = 60_000
"""Reports of counts with shares of noise have one byte a cell or more: beyond this many cells, bits are sent."""
# Which part of delta is set aside for batches that turn out too small.
SET_ASIDE = 1e-3
# The part of delta by which m batches of this many bits and one of m times as many may differ as they are computed.
ROUNDED = 1e-5
# How many standard deviations of their noise the visits of the average pair are in a first batch; chosen on tuning worlds.
SHOWN = 5.0

BARE = "against a shuffler who looks at single reports, or works with the server, the guarantee is none"

ShuffledQuestion = BitQuestion | StepQuestion
SharedQuestion = BanditQuestion | BudgetedQuestion


def design_shuffle(request: Request) -> Design:
    """Counts whose guarantee devices and shufflers keep together."""
    promise, mixing = request.promise, request.mixing
    if mixing is None:
        raise InvalidInput("batch-unsaid", "Trust shuffle needs to know how people are mixed. Give a batch.")
    if request.mechanism != AUTO:
        validation.choice("mechanism", request.mechanism, (*MECHANISMS, *registry.shares()))
    epsilon = _epsilon(promise)
    if mixing.local_epsilon is not None and mixing.local_epsilon <= epsilon:
        raise InvalidInput(
            "local-epsilon-not-above",
            f"local_epsilon must be above the epsilon of the sums, {epsilon:g}: at {mixing.local_epsilon:g} devices keep the "
            "guarantee by themselves, and shuffling adds nothing. Choose trust local.",
        )
    single = request.question.kind == bandit.KIND
    question = request.counted.having(levels=mixing.reward_bits)
    if single and (request.calibration == PAPER or request.mechanism not in (AUTO, *_of_shares())):
        raise InvalidInput(
            "single-step-takes-shares",
            "A single step is reported to shufflers with shares of noise, which no paper has. Choose the mechanism skellam.",
        )
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
    designs: list[Design] = []
    refused: list[InvalidInput] = []
    noisy = [] if single else _forms(question, request, mixing)
    shared = _shared_forms(question, request, mixing)
    ways = [
        *(partial(_with_noise, form, request, mixing) for form in noisy),
        *(partial(_with_shares, form, request, mixing) for form in shared),
    ]
    for make in ways:
        try:
            design = make()
        except InvalidInput as error:  # a batch may be too small for some bits and not for others
            refused.append(error)
            continue
        if request.mechanism != AUTO or request.can(design.question, design.mechanism):
            designs.append(design)
    if not designs:
        raise (
            refused[0]
            if refused
            else InvalidInput(
                "shares-need",
                "Shares of noise need a delta, one law for all steps, and neither a tree nor a local epsilon. Use shuffled-bits.",
            )
        )
    return min(designs, key=lambda design: design.kind.backup_variance(design.question, design.devices[0]))


def first_batch(spec: Spec, promise: Guarantee, users: int) -> int:
    """How many people the first batches have where batches widen: enough that they show the average pair.

    Its visits are then about `SHOWN` standard deviations of their noise, in the Gaussian limit; fewer people if some
    never come. A service issues tickets beyond a batch (`BEYOND`), as some holders are absent: sizes are rounded such that
    every user who takes a ticket is in a full batch.
    """
    question = BitQuestion(CountQuestion(spec, (REWARDS, TRANSITIONS), COUNTED))
    flips = spec.states * (spec.horizon if spec.layers == 1 else 1)  # in the visits of a pair, a person
    noise = math.sqrt(flips * question.price().l1) / promise.mu()
    return first_of(users, SHOWN * noise / average_visits(spec))


def first_of(users: int, wanted: float) -> int:
    """How many users first batches have, of about `wanted`: all who take a ticket are in a full batch."""
    doublings = math.floor(math.log2(max(1.0, users / (STEADY * wanted))))
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
    if name in (STEP, *_of_shares()):
        forms = []
    if stepwise and name != BITS:
        forms.append(StepQuestion(pairs))
    return forms


def _of_shares() -> tuple[str, ...]:
    """The mechanisms by which devices add shares of noise: ours, and those that were registered."""
    return (SHARES, *registry.shares())


def _shared_forms(question: CountQuestion, request: Request, mixing: Mixing) -> list[SharedQuestion]:
    """What is sent with shares of noise: budgeted counts, or those of a single step; nothing where that is not possible, or where
    devices were not declared to be able to, since they then have no guarantee of their own.
    """
    spec, single_kind = question.spec, request.question.kind == bandit.KIND
    chosen = request.mechanism in _of_shares() or single_kind
    if not chosen and request.able is None:
        return []
    single = spec.horizon == 1
    able = request.promise.delta > 0 and (spec.dynamics == STATIONARY or single) and mixing.local_epsilon is None
    walked = chosen or request.schedule.users <= MOST_WALKED or single
    ours = request.calibration == TIGHT or single_kind
    once = request.participation.times == 1
    if not (able and walked and ours and once) or mixing.tree or request.mechanism not in (AUTO, *_of_shares()):
        return []
    form: SharedQuestion
    if single:
        form = BanditQuestion(question.having(parts=SINGLE_STEP, last=DROPPED, expected=None))
    else:
        form = BudgetedQuestion.of(question.tight(), request.budget)
    return [form] if form.cells <= MOST_CELLS else []


def share_noise(question: Clipped, request: Request, grid: float) -> Design:
    """The design in which devices round real numbers to a grid and add shares of noise, and in no other way."""
    mixing = request.mixing
    if mixing is None:
        raise InvalidInput("batch-unsaid", "Trust shuffle needs to know how people are mixed. Give a batch.")
    if mixing.tree or mixing.local_epsilon is not None or request.participation.times > 1 or request.promise.delta <= 0:
        raise InvalidInput(
            "moments-shares-need",
            "Shares of noise on sums of features need a delta, and neither a tree, a local epsilon nor users who come again. "
            "Leave these out.",
        )
    validation.choice("mechanism", request.mechanism, (AUTO, SHARES))
    if request.schedule != mixing.schedule(request.schedule.users):
        raise InvalidInput(
            "moments-schedule", "Under shuffling the policy may change only between batches. Leave the schedule out."
        )
    design = _with_shares(question, request, mixing, grid)
    if request.mechanism == AUTO and not request.can(design.question, design.mechanism):
        raise InvalidInput(
            "moments-shares-claimed",
            "Sums of features are shuffled with shares of noise, which hide no user from the shuffler itself: users need tokens, "
            "and it another operator. Say --claimed in a simulation; in a service, name an issuer and --between.",
        )
    return design


def _with_shares(
    question: SharedQuestion | Clipped, request: Request, mixing: Mixing, grid: float | None = None
) -> Design:
    """The design in which devices add shares of the least noise that keeps the guarantee: Skellam, or what was registered.

    grid: of cells that are rounded; None for that of counts.
    """
    promise, size = request.promise, question.price(grid or 0.0)
    grid = grid or 1 / question.resolution
    honest = _crowds(question, mixing, request.schedule.users, 0.0)
    if request.mechanism in registry.shares():
        made = registry.make_shares(request.mechanism, size, promise, honest, question.width, grid)
        return request.design(question, Act(made, size), remarks=question.remarks)
    cut = cut_off(honest, question.width)
    rate = least_rate(_epsilon(promise), promise.delta, size.l1 / grid, size.l2 / grid, cut)
    shares = SkellamShares(rate, honest, question.width, grid)
    return request.design(question, Act(shares, size), remarks=question.remarks)


def _with_noise(question: ShuffledQuestion, request: Request, mixing: Mixing) -> Design:
    """The design for one form of report: with the noise that was requested, else with the least that keeps the guarantee."""
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
    """Refuse a design whose batches are larger than its batches."""
    mechanism, mixing = design.shares, _mixing(design)
    expected = _crowds(design.question, mixing, design.schedule.users, mechanism.missing)
    shared = design.question.kind in (budgeted.KIND, bandit.KIND, MOMENTS, TARGETS)
    fits = (
        mechanism.cells == design.question.width and not mixing.tree if shared else mechanism.apart == mixing.widening
    )
    if mechanism.people != expected or not fits:
        raise InvalidInput(
            "sizes-of-other-batches", "The batch sizes of the mechanism are not those of the schedule. Make it again."
        )
    for device in design.devices:
        check_noise(design, device)


def _categories(question: Question) -> int:
    """How many categories a sampled step has; 0 if a report is about the whole episode."""
    return question.width if question.kind == "step" else 0


def _people_in_sum(question: Question, honest: int, missing: float) -> int:
    """How many of this number of honest people are in one sum. Of asked pairs each has a sum of its own, and a law may ask one
    person alone about a pair: then no other user is in it.
    """
    if find_kind(question.kind).first_visits:
        return 1
    return people_in_sum(honest, question.spec, _categories(question) > 0, missing)


def smallest_batch(question: ShuffledQuestion, promise: Guarantee, local: float, share: float = 1.0) -> int:
    """The smallest batch whose sums keep the guarantee when devices keep `local` and a share of people is honest."""
    changed = round(question.price().l1)
    missing = _set_aside(question, promise)
    needed = smallest_crowd(local / changed, changed, _epsilon(promise), promise.delta - missing)
    batch = math.ceil(needed / share)
    while _people_in_sum(question, int(share * batch + 1e-9), missing) < needed:
        batch += max(1, batch // 100)
    return max(batch, 2)


def _set_aside(question: ShuffledQuestion, promise: Guarantee) -> float:
    """The part of delta that pays for batches that are too small: how many people draw the same step is chance."""
    return SET_ASIDE * promise.delta if _categories(question) and question.spec.layers > 1 else 0.0


def _epsilon(promise: Guarantee) -> float:
    if promise.epsilon is None:
        raise InvalidInput(
            "shuffle-in-rho", "Shuffling is accounted for in epsilon and delta, not rho. Give epsilon and delta."
        )
    return promise.epsilon


def _paper_design(question: CountQuestion, request: Request, mixing: Mixing) -> Design:
    """M_sh with the paper's noise: that of the local epsilon, else that for which Proposition 5 claims the guarantee."""
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
    """The guarantee that each device keeps by itself, even if the shuffler colludes with the server; none with shares of noise."""
    alone = repeat(design.shares.local_loss(design.act.sensitivity), design.act.times).epsilon(0.0)
    if math.isinf(alone):
        return Guarantee.none()
    return replace(design.requested, trust=LOCAL, epsilon=alone, delta=0.0)


def remaining(design: Design, honest: int) -> Guarantee:
    """The guarantee if only n users of every base batch are honest: at worst what devices keep by themselves."""
    mechanism = design.shares
    honest = validation.integer("honest", honest, 1, _mixing(design).batch)
    levels = range(len(mechanism.people))
    people = tuple(_people_in_sum(design.question, honest << level, mechanism.missing) for level in levels)
    loss = mechanism.loss_among(people, design.act.sensitivity)
    epsilon = repeat(loss, design.act.times).epsilon(design.requested.delta)
    alone = local_guarantee(design)
    least = math.inf if alone.epsilon is None else alone.epsilon
    return replace(design.requested, epsilon=epsilon) if epsilon < least else alone


def _mixing(design: Design) -> Mixing:
    if design.mixing is None:
        raise InvalidInput("design-without-shufflers", "This design has no shufflers.")
    return design.mixing


def noise_of_sums(design: Design, people: Sequence[ArrayLike]) -> Law:
    """The noise of the sums of every level, over n users each."""
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
        """Counts, in bits, by a sampled step, or with shares of noise."""
        return {counts.KIND: design_shuffle}

    def law(self, design: Design, people: People) -> Law:
        """The noise of the full batches among this many people; in a tree, of the nodes of the binary digits of their number."""
        mixing = _mixing(design)
        full = people.astype(np.int64) // mixing.batch
        if len(design.devices) == 1:
            return noise_of_sums(design, [full * float(mixing.batch)])
        return noise_of_sums(
            design, [mixing.covered(level, full) * float(mixing.batch) for level in range(len(design.devices))]
        )

    def devices(self, design: Design) -> tuple[Randomizer, ...]:
        """One randomised report to the shuffler of each level."""
        return design.shares.on_device()

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """The assumptions of the sums' guarantee; that of the devices rests on the last three alone."""
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
            f"each person is in one batch{nodes}{again}; no user acts on sums of their own batch; a short last batch is held",
            *(() if local_guarantee(design).private else (BARE,)),
            *design.question.assumptions,
            "every device draws its own noise and sends each report once",
        )

    def further(self, design: Design) -> tuple[Guarantee, ...]:
        """What devices keep by themselves, if anything."""
        alone = local_guarantee(design)
        return (alone,) if alone.private else ()

    def check(self, design: Design) -> None:
        """Refuse a design whose batches are larger than its batches."""
        _check(design)

    def local_guarantee(self, design: Design) -> Guarantee:
        """The guarantee that each device keeps by itself, even against a dishonest shuffler."""
        return local_guarantee(design)

    def open_aggregate(self, design: Design) -> Aggregate:
        """All shufflers of a design, and the sums of theirs that a server keeps."""
        from ..releases.shuffler import ShuffleAggregate

        return ShuffleAggregate(design)

    def addressed(self, design: Design, batch: int, report: ReportMaker) -> tuple[Submission, ...]:
        """One report to each of the shufflers of a person's group, flipped afresh."""
        from ..releases.shuffler import Submission

        return tuple(Submission(first, report(level)) for first, level in design.batches_of(batch))


register(ShuffleTrust())
