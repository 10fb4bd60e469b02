"""Fits with described features: moments of those who are counted make a linear model, and others judge a part of its policy.

One release holds everything that the policy needs (`protocol.kinds.moments`, increments of next features), so nothing is asked
twice. What a linear model foretells is true in a world that is linear, which no test can show; so no value is stated by it. A gain
is stated by people who judge, whose logged chances of actions are known: of a share of decisions in which the advice is followed
(`mdp.adoption`), whatever the features leave out.

**Which share** follows from the release of those who are counted, so it costs nothing. Practice's chance of an action is estimated
linearly from the same Gram matrices, p_a(x) = x'(sum_b G_b)^-1 G_a c with x'c = 1, and never below the public floor; with c2 the
mean of 1/p of the policy's action less 1, over public states as they are usually spread, weights of H steps have a mean square of
about (1 + alpha^2 c2)^H. The largest share is taken for which that is at most `MOST_SQUARE`, and `LEAST_PEOPLE` are left. Were it a
bad one, the interval would be wide, as it is computed from the scores themselves, but for their clip.

**The clip.** Few people have the largest scores, and they may have all that a policy costs: where it advises what practice hardly
does, one of them stands for many. Of so few the noise in `sizes` may hide any. So sizes of scores are foreseen from the same
release (`PublicPractice.sizes`); the clip is no lower than where what it takes of these, and the noise that it brings, are least
together; and what it takes of them is added to both sides of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...data.privatizers import open_aggregate
from ...data.privatizers.curator import Total
from ...data.statistics.counting import DatasetCounts
from ...data.statistics.logged_moments import logged_cells
from ...data.trajectories.dataset import ALL, GROUP, Dataset
from ...errors import ConfideError, FormatError, InvalidInput
from ...learning.learners.logged_linear import FeatureCritic, LoggedLinear
from ...learning.planning.estimates import Estimate, quantile
from ...mdp.adoption import BY_STATE, Adoption, Episodes, scores
from ...mdp.described import usual
from ...mechanisms.mechanism import NoiseMechanism
from ...mechanisms.noise import NoiseSource
from ...privacy import Act, Certificate, Guarantee, keeps
from ...privacy.calibration import calibration_failed
from ...protocol.design import AUTO, TIGHT, Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.counts import DROPPED, LEVELS, REWARDS, TRANSITIONS, VISITS
from ...protocol.kinds.judged import CELLS, GAIN, SIZES, JudgedRelease
from ...protocol.kinds.moments import MOMENTS, MomentsRelease
from ...protocol.trusts.central import GAUSSIAN
from ...validation import Json
from ..reporting.stated import Findings, StatedJudgement
from .adopting import ALPHAS, JUDGED, LEAST_PEOPLE, MOST_SQUARE, UNIT, JudgePlan, clip_of, designs_of
from .alarms import ruling
from .choices import FitChoices
from .findings import UnitConverter, Units, in_people_units
from .learning import LearningResult
from .plan import FAILURE, OF_VALUES, ONCE, PricedPlan, assumptions

Array = NDArray[np.float64]

FEATURES = "features"
"""The name of the release."""
FORMAT = "confide.logged-moments/1"
FORESEEN = 10_000
"""People whose scores' sizes are foreseen."""
JUDGE_SHARES = {SIZES: 0.05, GAIN: 0.95 - 1e-9}
"""Of the guarantee to judging users: no value of the model is stated, so it is not tested, and all else is for the gain."""
LINEAR = "the policy is made of a linear model of these features; its gain is stated by those who judge, and rests on no model"
UNJUDGED = (
    "no user judged this policy, so nothing is called better: log the probabilities of actions and name them (--propensity, with "
    "--propensity-floor)"
)


class FeatureRelease(NamedTuple):
    """The release of moments, with the design that says what it is about."""

    design: Design
    moments: MomentsRelease

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        return bytes(msgpack.packb([FORMAT, self.design.to_bytes(), self.moments.to_bytes()]))

    @classmethod
    def from_bytes(cls, data: bytes) -> FeatureRelease:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, design, moments = msgpack.unpackb(data, max_array_len=4, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            made = Design.from_bytes(design)
            return cls(made, MOMENTS.read_release(moments, made))
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "release-unreadable", f"These bytes are not a release this version can read: {error}"
            ) from error


@dataclass(frozen=True)
class FeaturePlan(PricedPlan):
    """A fit with described features with every choice made; it has the attributes of `CountPlan`."""

    data: Dataset
    promise: Guarantee
    learner: LoggedLinear
    design: Design
    failure: float = FAILURE

    calibration = TIGHT

    @classmethod
    def of(cls, data: Dataset, promise: Guarantee, learner: LoggedLinear, failure: float = FAILURE) -> FeaturePlan:
        """The plan of a fit: one statistic, for all of the guarantee."""
        if data.users.mode in (GROUP, ALL):
            raise InvalidInput(
                "features-several-episodes",
                "Fits with described features take one episode a person. Use --users limit instead.",
            )
        promise = replace(promise, unit=data.unit)
        made = cls(data, promise, learner, make(Request(learner.question, promise, ONCE)), failure)
        validation.between("failure", failure, 1e-12, 0.5)
        if not keeps(made.loss, promise):
            raise calibration_failed(promise)
        return made

    @property
    def question(self) -> CountQuestion:
        """The counts by which rows are checked; none of them is released."""
        return CountQuestion(self.data.knowledge.spec, (VISITS, REWARDS, TRANSITIONS), DROPPED, LEVELS)

    counts = False
    """No counts are released."""
    split = False
    features = None
    visits_noise = None

    @property
    def acts(self) -> list[Act[NoiseMechanism]]:
        """The one act of privacy."""
        return [self.design.act]

    @property
    def noise_stated(self) -> tuple[float, str]:
        """A standard deviation of noise, and which number has it."""
        return math.sqrt(float(self.design.additive.variance())), "a sum of products of features"

    @property
    def described(self) -> dict[str, Json]:
        """What a fit writes down of it: how often radii may be wrong."""
        return {"failure": self.failure}

    @property
    def bytes_needed(self) -> int:
        """About how many bytes the output takes."""
        return (4 << 20) + 64 * self.learner.question.cells

    def release(self, counted: DatasetCounts, noise: NoiseSource, simulated: bool = False) -> dict[str, FeatureRelease]:
        """Draw the noise. What comes out may be published. simulated: the people are, so noise may be replayable."""
        if counted.lived is None:
            raise InvalidInput(
                "observations-not-kept", "What was observed of these users was not kept. Count them again."
            )
        question, aggregate = self.learner.question, open_aggregate(self.design, noise, simulated=simulated)
        grid = float(self.design.mechanism.grid)
        aggregate.take_sum(Total(logged_cells(question, counted.lived, grid, self.learner.ends), counted.users))
        return {FEATURES: FeatureRelease(self.design, aggregate.close())}

    def learned(self, releases: Mapping[str, FeatureRelease], asking: FeatureInquiry | None) -> LearningResult:
        """What is learned from the releases."""
        return feature_result(self.learner, releases[FEATURES], Units.of(self.data.describe()), asking)

    def certificate(self, noise: str) -> Certificate:
        """The certificate of the guarantee to every user in the data."""
        described = (
            "features are computed from a public description, with ranges that were chosen without a look at data"
        )
        conditions = [*(each for each in assumptions(self.data) if not each.startswith(OF_VALUES)), described]
        return Certificate.of(self.acts, self.promise, TIGHT, noise, conditions).about(["products of features"])


def feature_plan(data: Dataset, choices: FitChoices) -> tuple[LoggedLinear, FeaturePlan]:
    """The learner and the plan of a fit with described features; choices that are about tables are refused."""
    if choices.learner not in (AUTO, LoggedLinear.name) or choices.options:
        raise InvalidInput(
            "features-learner", "Described features are for learner linear, which takes no options. Name no other."
        )
    odd = {
        "--calibration": choices.calibration != TIGHT,
        "--mechanism": choices.mechanism not in (AUTO, GAUSSIAN),
        "--visits": choices.visits != AUTO,
        "--reward-centre": choices.reward_centre is not None,
        "--bonus-scale": choices.scale is not None,
        "--alone": choices.alone,
    }
    for name, chosen in odd.items():
        if chosen:
            raise InvalidInput("features-take-no-tables", f"{name} is about tables of states. Leave it out.")
    knowledge, observed = data.knowledge, data.observed
    assert observed is not None  # or it would be no fit with features
    learned = LoggedLinear(observed.features, knowledge.spec.horizon, knowledge.ends, float(knowledge.end_reward))
    return learned, FeaturePlan.of(data, choices.privacy, learned, choices.failure)


def feature_judge(data: Dataset, promise: Guarantee, share: float | None) -> JudgePlan | None:
    """What is asked of those who judge; None if no user does, as where chances are not logged. share: None for none."""
    if share is None or data.floor is None:
        return None
    validation.between("judge", share, 0.05, 0.5, "Say --judge 0.3, for example.")
    return JudgePlan(share, designs_of(JUDGE_SHARES, promise, AUTO), logged=True)


class JudgedShare(NamedTuple):
    """The share of decisions that is judged, and what others said of it. missed: what the clip of scores takes from their mean at
    most, as foreseen."""

    alpha: float
    releases: dict[str, JudgedRelease]
    missed: float

    def gain(self) -> Estimate:
        """The gain over practice, with an interval for sampling error, noise, and what the clip takes."""
        release = self.releases[GAIN]
        people = max(release.users, 1)
        mean, square = np.array(release.sums) / people
        deviation = math.sqrt(max(float(square - mean**2), 0.0) / people + (release.noise[0] / people) ** 2)
        value, error = release.scale * float(mean), release.scale * deviation
        width = quantile(0.95) * error + self.missed
        return Estimate(value, value - width, value + width, error, 0.95)


class FeatureInquiry:
    """Asks judging people, once. episodes: sensitive; they are let go with it."""

    def __init__(
        self, judge: JudgePlan, episodes: Episodes, noise: NoiseSource, floor: float, simulated: bool = False
    ) -> None:
        """Before anything was released. floor: no logged chance is lower."""
        self._judge, self._episodes, self._noise, self._simulated = judge, episodes, noise, simulated
        self._floor, self.releases = floor, dict[str, JudgedRelease]()

    def __repr__(self) -> str:
        return "FeatureInquiry()"

    def judged(self, critic: FeatureCritic, release: MomentsRelease, end_reward: float) -> JudgedShare | None:
        """What judging people say of a share of the decisions; None where none can be judged."""
        people = self._episodes.people
        alpha = judged_share(critic, release, self._floor, people)
        if alpha is None:
            return None
        found = adoption_scores(critic, alpha, self._episodes, end_reward)
        unit = usual_score(alpha, len(critic.middle))
        with np.errstate(divide="ignore"):
            octaves = np.ceil(np.log2(np.abs(found) / (unit * UNIT)))
        drawn_by = self._noise, self._simulated
        self.releases[SIZES] = self._judge.released(SIZES, octaves, UNIT, *drawn_by)
        sizes = PublicPractice.of(critic, release, self._floor).sizes(alpha)
        least = foreseen_clip(sizes, unit, self._judge.noise(GAIN) / people)
        clip = max(unit * clip_of(self.releases[SIZES], UNIT), least)
        self.releases[GAIN] = self._judge.released(GAIN, found / clip, clip, *drawn_by)
        return JudgedShare(alpha, self.releases, missed(sizes, clip))


class FeatureRecollection:
    """What judging people said once, of a policy that follows from the same release."""

    def __init__(self, stored: Mapping[str, bytes], floor: float) -> None:
        """stored: the releases that a fit keeps."""
        named = {name.removeprefix(JUDGED): body for name, body in stored.items() if name.startswith(JUDGED)}
        self._floor, self.releases = floor, {name: JudgedRelease.from_bytes(body) for name, body in named.items()}

    def judged(self, critic: FeatureCritic, release: MomentsRelease, end_reward: float) -> JudgedShare | None:
        """The same as then."""
        if not {SIZES, GAIN} <= self.releases.keys():
            return None
        alpha = judged_share(critic, release, self._floor, self.releases[SIZES].users)
        if alpha is None:
            return None
        sizes = PublicPractice.of(critic, release, self._floor).sizes(alpha)
        return JudgedShare(alpha, self.releases, missed(sizes, self.releases[GAIN].scale))


def usual_score(alpha: float, horizon: int) -> float:
    """The size of scores by which their octaves are counted: a public number, right or not."""
    return alpha * math.sqrt(horizon)


class PublicPractice(NamedTuple):
    """What practice does in public states as they are usually spread, as the release estimates it. chances: (n, A) of actions, none
    below the floor; advised: (H, n) the policy's action."""

    chances: Array
    advised: NDArray[np.int64]

    @classmethod
    def of(cls, critic: FeatureCritic, release: MomentsRelease, floor: float) -> PublicPractice:
        """See the module's docstring."""
        features = critic.features
        points = usual(features.inputs)
        x = features.all_x(points)
        least = max(floor, 1e-6)
        chances = np.full((len(points), features.actions), 1 / features.actions)
        if features.blocks > 1:
            gram = release.gram.sum(axis=0)
            one = np.linalg.lstsq(x[:, 0], np.ones(len(points)), rcond=None)[0]
            rows = np.stack([np.linalg.pinv(gram.sum(axis=0), hermitian=True) @ each @ one for each in gram], axis=1)
            chances = np.clip(x[:, 0] @ rows, least, 1.0)
            chances = np.maximum(chances / chances.sum(axis=1, keepdims=True), least)
        return cls(chances, np.stack([features.scores(x, weights).argmax(axis=1) for weights in critic.weights]))

    def squares(self) -> list[float]:
        """c2 of every step."""
        points = np.arange(len(self.chances))
        return [float((1 / self.chances[points, advised]).mean()) - 1 for advised in self.advised]

    def sizes(self, alpha: float) -> Array:
        """(FORESEEN,) sizes of scores of people who are at another point at every step, and whose rewards and values are off by 1
        from what the model says, up or down."""
        rng, (steps, points) = np.random.default_rng(0), self.advised.shape
        place = rng.integers(points, size=(FORESEEN, steps))
        follows = self.chances[place, self.advised[np.arange(steps), place]]
        ratios = 1 - alpha + (rng.random(place.shape) < follows) * alpha / follows
        off = rng.choice([-1.0, 1.0], size=place.shape)
        return np.asarray(np.abs((off * (np.cumprod(ratios, axis=1) - 1)).sum(axis=1)))


def missed(sizes: Array, clip: float) -> float:
    """What a clip takes from the mean of scores of these sizes, at most."""
    return float(np.maximum(sizes - clip, 0.0).mean())


def foreseen_clip(sizes: Array, unit: float, noise: float) -> float:
    """The clip by which what it takes and the width of the interval for noise are least together. noise: the deviation that a clip
    of 1 brings into the mean score."""
    clips = [unit * math.exp2(step / 2) for step in range(-8, 2 * CELLS)]
    together = [missed(sizes, clip) + quantile(0.95) * noise * clip for clip in clips]
    return clips[int(np.argmin(together))]


def judged_share(critic: FeatureCritic, release: MomentsRelease, floor: float, people: int) -> float | None:
    """The largest share of decisions that this many people can judge; see the module's docstring."""
    squares = PublicPractice.of(critic, release, floor).squares()
    for alpha in ALPHAS:
        together = math.prod(1 + alpha**2 * max(square, 0.0) for square in squares)
        if together <= MOST_SQUARE and people >= LEAST_PEOPLE * together:
            return alpha
    return None


def adoption_scores(critic: FeatureCritic, alpha: float, episodes: Episodes, end_reward: float) -> Array:
    """(n,) the score of every episode (`mdp.adoption`), with the values of the linear model: each person is a state of the
    tables."""
    horizon, people, actions = len(critic.middle), episodes.people, critic.features.actions
    lengths = np.diff(episodes.starts)
    person = np.repeat(np.arange(people), lengths)
    step = np.arange(len(person)) - np.repeat(episodes.starts[:-1], lengths)
    taken, q = np.zeros((horizon, people, actions)), np.zeros((horizon, people, actions))
    for h in range(horizon):
        here = np.flatnonzero(step == h)
        x = critic.features.all_x(episodes.observed[here])
        q[h, person[here]] = critic.q(h, episodes.observed[here])
        taken[h, person[here], critic.features.scores(x, critic.weights[h]).argmax(axis=1)] = 1.0
    kept, nobody = np.zeros((horizon, people)), np.zeros((0, 0, 0))
    adoption = Adoption(alpha, kept, taken, nobody, BY_STATE, q, end_reward)
    return scores(adoption, episodes._replace(states=person))[0]


def feature_result(
    learner: LoggedLinear,
    released: FeatureRelease,
    units: Sequence[float],
    asking: FeatureInquiry | FeatureRecollection | None,
) -> LearningResult:
    """Policy and findings, from the release and from what judging people say."""
    release = released.moments
    critic = learner.learn(release)
    judged = None if asking is None else asking.judged(critic, release, learner.end_reward)
    summary: Findings = {
        "users": release.users,
        "value": None,
        "lower": None,
        "confidence": 0.95,
        "linear": True,
        "assumes": [LINEAR],
        "checks": [],
    }
    found: Findings = {**summary, **_said(judged, asking is not None, in_people_units(units, learner.horizon))}
    return LearningResult(critic.policy, None, found)


def _said(judged: JudgedShare | None, asked: bool, in_units: UnitConverter) -> Findings:
    if not asked:
        return {"judged": None, "alarms": [], "recommended": False, "judged_said": UNJUDGED}
    if judged is None:
        return ruling(None, (), True, False)
    gain = judged.gain()
    shown = in_units(gain, difference=True)
    stated: StatedJudgement = {
        "alpha": judged.alpha,
        "gain": shown["value"],
        "low": shown["low"],
        "high": shown["high"],
        "sure": gain.sure(),
        "undone_by": None,
        "people": judged.releases[GAIN].users,
    }
    return ruling(stated, (), True, gain.sure() and judged.alpha == 1)
