"""The public contract of a service: what is learned, what is guaranteed, and by which means.

It is UTF-8 JSON, and known by the SHA-256 of its bytes as they are served: it is never written anew. Its readers load the
design that is in it, recomputes what it guarantees, and refuses a contract that does not keep its guarantee, or that says in
words anything else than what the design does.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ... import validation
from ...errors import ConfideError, FormatError, InvalidInput
from ...mdp import policies
from ...mdp.described import DescribedFeatures
from ...mdp.feature_policy import Followed, read_published
from ...mechanisms.catalogue import parameters
from ...privacy import ONCE, Participation
from ...privacy.guarantee import LOCAL, SHUFFLE
from ...protocol.design import PAPER, Design
from ...protocol.kinds.asked_return import returns_of
from ...protocol.kinds.budgeted import BUDGETED
from ...protocol.kinds.counts import MIDDLE, CountQuestion
from ...protocol.kinds.moments import MOMENTS
from ...validation import Json
from .encoding import from_base64, to_base64
from .intermediary import ROLES, Intermediary
from .periods import Periods
from .slots import MOST_SLOTS, Slots
from .tokens import TokenChecker, TokenIssuer

SCHEMA = "confide.contract/1"
MOST_BYTES = 1 << 24
KEY_BYTES = 32
FORECAST = ("people", "low", "high")
"""Of a forecast, where a contract has one: from how many people on half of the possible gain is had; None is more than 10^7."""
_KEYS = {
    "schema",
    "name",
    "version",
    "spec",
    "labels",
    "trust",
    "guarantee",
    "question",
    "mechanism",
    "design",
    "design_digest",
    "schedule",
    "learner",
    "reports_per_person",
    "window",
    "operator",
    "issuer",
    "key",
    "successor",
}


def stated(design: Design) -> dict[str, Json]:
    """The fields of a contract that follow from its design; a reader of a contract compares them."""
    spec, promise, schedule = design.question.spec, design.requested, design.schedule
    counts = design.question.counted
    described = design.question.described
    counted_by_devices = design.question.kind == BUDGETED.name and promise.trust in (LOCAL, SHUFFLE)
    statements: dict[str, Json] = {
        "spec": {"states": spec.states, "actions": spec.actions, "horizon": spec.horizon, "model": spec.dynamics},
        "trust": promise.trust,
        "guarantee": {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "rho": promise.rho,
            **({} if design.mixing is None else {"honest": design.mixing.share}),
        },
        "question": {
            "kind": design.question.kind,
            "digest": design.question.digest.hex(),
            **({} if counts is None else _counted_parts(counts)),
            **({} if described is None else {"features": described.plain(), **_moments_parts(design)}),
            **({"one_in": returning.one_in} if (returning := returns_of(design)) else {}),
            **({"budget": BUDGETED.question_of(design).budget} if counted_by_devices else {}),
        },
        "mechanism": parameters(design.mechanism),
        "design": to_base64(design.to_bytes()),
        "design_digest": design.digest.hex(),
        "schedule": {
            "kind": schedule.kind,
            "users": schedule.users,
            "parameter": schedule.parameter,
            "burn_in": schedule.burn_in,
        },
    }
    return statements


def _moments_parts(design: Design) -> dict[str, Json]:
    question = MOMENTS.question_of(design)
    if question.increments:
        raise InvalidInput(
            "contract-increments",
            "Devices sum features of next states, and this design increments, as fits of logs do. Make another.",
        )
    return {
        "weights": [question.reward_weight, question.next_weight],
        "bounds": [question.gram_bound, question.vector_bound],
    }


def _counted_parts(counts: CountQuestion) -> dict[str, Json]:
    if counts.centre != MIDDLE:
        raise InvalidInput(
            "contract-reward-centre",
            "Devices centre rewards at 1/2, and this design does elsewhere. Leave its centre out.",
        )
    return {
        "parts": list(counts.parts),
        "last": counts.last,
        "levels": counts.levels,
        "objective": counts.objective,
    }


@dataclass(frozen=True, eq=False)
class Contract:
    """data: the bytes as served. document: what they say. design: made from them, and checked."""

    data: bytes
    document: dict[str, Any]
    design: Design

    @property
    def expected(self) -> int:
        """How many users are expected: all for whom the schedule is made, unless it has no end."""
        return int(self.document["learner"].get("expected", self.design.schedule.users))

    @classmethod
    def written(
        cls,
        design: Design,
        *,
        name: str,
        operator: str,
        key: bytes,
        learner: dict[str, Any],
        labels: dict[str, list[str]] | None = None,
        window: float = 0.0,
        version: int = 1,
        intermediary: Intermediary | None = None,
        issuer: TokenIssuer | None = None,
        period: Periods | None = None,
    ) -> Contract:
        """A new contract about a design. key: the collector's public one. window: seconds within which a report is sent.

        intermediary: the shuffler or the curator, where the trust has one. issuer: of tokens, one a person; None if anyone may
        take part, as often as they like. period: after which each person's guarantee is given anew; None for never.
        """
        spec, described = design.question.spec, design.question.described
        actions = _counted("a", spec.actions) if described is None else list(described.actions_named)
        document = {
            "schema": SCHEMA,
            "name": name,
            "version": version,
            **stated(design),
            "labels": labels or {"states": _counted("s", spec.states), "actions": actions},
            "learner": learner,
            "reports_per_person": design.participation.times,
            "window": {"seconds": window},
            "operator": operator,
            "issuer": None if issuer is None else _slotted(issuer, design, period).to_json(),
            "key": to_base64(key),
            "successor": None,
        }
        if intermediary is not None:
            document["intermediary"] = intermediary.for_design(design).to_json()
        if period is not None:
            document["period"] = period.to_json()
        return cls.from_bytes((json.dumps(document, indent=2) + "\n").encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Contract:
        """Read a contract as it was served; refuse one that this version cannot vouch for."""
        try:
            if len(data) > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES} bytes")
            document = json.loads(data.decode("utf-8"))
            if not isinstance(document, dict) or document.get("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA!r}")
            keys = (
                _KEYS | ({"intermediary"} if document.get("trust") in ROLES else set()) | (document.keys() & {"period"})
            )
            if set(document) != keys:
                raise ValueError(f"its keys differ in {', '.join(sorted(set(document) ^ keys))}")
            design = Design.from_bytes(from_base64(document["design"]))
            _check(document, design)
            contract = cls(bytes(data), document, design)
            if contract.issuer is not None and contract.issuer.batches != (
                contract.slots.width if contract.slots else 0
            ):
                raise ValueError("what it says of its issuer's slots is not what its design does")
            return contract
        except (ConfideError, ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise FormatError(
                "contract-unreadable", f"This is not a contract that this version can vouch for: {reason}."
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of its bytes, by which it is known."""
        return hashlib.sha256(self.data).digest()

    @property
    def pin(self) -> str:
        """The pin, `sha256:...`, that tells a device which contract to accept."""
        return f"sha256:{self.digest.hex()}"

    @cached_property
    def key(self) -> bytes:
        """The collector's public Ed25519 key."""
        return from_base64(self.document["key"])

    @property
    def described(self) -> DescribedFeatures | None:
        """The public description of what devices observe; None where states are numbered."""
        return self.design.question.described

    def policies(self, data: bytes) -> tuple[Followed, ...]:
        """The policies in a published document; anything else is refused."""
        spec, features = self.design.question.spec, self.described
        return policies.from_bytes(data, spec) if features is None else read_published(data, features, spec.horizon)

    @property
    def operator(self) -> str:
        """The name of the operator of the service."""
        return str(self.document["operator"])

    @property
    def window(self) -> float:
        """Within how many seconds after an episode began its report is sent; 0 is when it ends."""
        return float(self.document["window"]["seconds"])

    @cached_property
    def intermediary(self) -> Intermediary | None:
        """The shuffler or curator between devices and the collector; None under trust local."""
        entry = self.document.get("intermediary")
        return None if entry is None else Intermediary.from_json(entry, self.design, self.window)

    @cached_property
    def issuer(self) -> TokenIssuer | None:
        """Who issues tokens, one a person; None if the service is open to any client."""
        entry = self.document["issuer"]
        return None if entry is None else TokenIssuer.from_json(entry)

    @cached_property
    def slots(self) -> Slots | None:
        """The visits of people who come again; None where every user takes part once, ever."""
        keys = MOST_SLOTS if self.issuer is None else len(self.issuer.keys)
        return Slots.of(self.design, len(self.ends), keys) if _again(self.design, self.period) else None

    @property
    def tokens(self) -> TokenChecker | None:
        """What checks tokens, those of the first slot; None if the service is open to any client."""
        return self.checker(0)

    def checker(self, slot: int) -> TokenChecker | None:
        """What checks the tokens of a slot (the first, where there are none); None if there are no such tokens."""
        count = 0 if self.issuer is None else len(self.issuer.keys)
        by_key = slot if self.slots is not None and self.slots.width else 0
        return self._checkers[by_key] if 0 <= by_key < count else None

    @cached_property
    def _checkers(self) -> tuple[TokenChecker, ...]:
        assert self.issuer is not None
        return tuple(TokenChecker.of(self.issuer, self.digest, one) for one in range(len(self.issuer.keys)))

    @property
    def participation(self) -> Participation:
        """How often one person takes part (in each period, where there are any), and how many batches apart."""
        return self.design.participation

    @cached_property
    def period(self) -> Periods | None:
        """After how long each person's guarantee is given anew; None for never."""
        return Periods.from_json(self.document["period"]) if "period" in self.document else None

    def tickets(self, batch: int) -> int:
        """How many tickets fill a batch, where there are any."""
        if self.intermediary is not None and self.intermediary.tickets is not None:
            return self.intermediary.tickets << self.level(batch)
        return self.ends[batch - 1] - (self.ends[batch - 2] if batch > 1 else 0)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """After how many people each round closes; under trust shuffle at the least, and without a last batch that is short."""
        return _ends(self.design)

    def level(self, batch: int) -> int:
        """The level of a shuffler's batch (from 1 on): 0, or l where it needs 2^l times as many people as the first."""
        return int(self._levels[batch - 1])

    @cached_property
    def _levels(self) -> tuple[int, ...]:
        mixing, batches = self.design.mixing, len(self.ends)
        return (0,) * batches if mixing is None else tuple(mixing.closing_levels(batches).tolist())


def _ends(design: Design) -> tuple[int, ...]:
    schedule, mixing = design.schedule, design.mixing
    return tuple((schedule.ends if mixing is None else schedule.ends[mixing.full(schedule)]).tolist())


def _again(design: Design, period: Periods | None) -> bool:
    """Whether a person takes part more than once, be it in another period."""
    return design.participation != ONCE or period is not None


def _slotted(issuer: TokenIssuer, design: Design, period: Periods | None) -> TokenIssuer:
    """The entry of an issuer with the batches of a slot, where a design has slots."""
    slots = Slots.of(design, len(_ends(design)), len(issuer.keys)) if _again(design, period) else None
    return replace(issuer, batches=0 if slots is None else slots.width)


def keys_needed(design: Design, period: Periods | None = None) -> int:
    """How many keys an issuer of tokens for a design needs: one a slot where people come again, else one."""
    return Slots.of(design, len(_ends(design))).keys if _again(design, period) else 1


def weaker(new: Contract, old: Contract) -> str:
    """A sentence on how a contract guarantees less than another; empty if it does not.

    What is compared is a closed list, the same in `js/src/contract.js`: trust; epsilon, delta, rho and the share of users who
    are assumed to be honest; the key and the operator of the shuffler or curator, and the key that uploads are sealed to; what a
    shuffler's devices keep by themselves; the window; the number of reports, and after how long it is renewed.
    """
    first, other = new.document, old.document
    if first["trust"] != other["trust"]:
        return f"it trusts {first['trust']} instead of {other['trust']}"
    for name in ("epsilon", "delta", "rho", "honest"):
        now, before = first["guarantee"].get(name), other["guarantee"].get(name)
        if (now is None) != (before is None):
            return (
                f"its guarantee is not stated in {name} as before"
                if now is None
                else f"its guarantee is stated in {name}"
            )
        if now is not None and now > before:
            words = f"it assumes that {now:g} of people are honest" if name == "honest" else f"its {name} is {now:g}"
            return f"{words} instead of {before:g}"
    between, earlier = new.intermediary, old.intermediary
    if between is not None and earlier is not None:
        if between.key != earlier.key:
            return f"its {between.role} is another"
        if between.operator == new.operator != earlier.operator:
            return f"its {between.role} is run by the collector's operator"
        if earlier.sealing is not None and between.sealing != earlier.sealing:
            return "its uploads are not sealed to the same key"
    issuing = _weaker_issuer(new, old)
    if issuing:
        return issuing
    alone, before_alone = new.design.local_guarantee.epsilon, old.design.local_guarantee.epsilon
    if new.design.mixing is not None and before_alone is not None and (alone is None or alone > before_alone):
        kept = "nothing" if alone is None else f"epsilon {alone:g}"
        return f"its devices by themselves keep {kept} instead of epsilon {before_alone:g}"
    if new.window < old.window:
        return f"its reports are sent within {new.window:g} seconds instead of {old.window:g}, which says more of when"
    if first["reports_per_person"] > other["reports_per_person"]:
        return "it asks for more reports of a person"
    if _seconds(new) < _seconds(old):
        return "it renews the guarantee sooner: over time a person sends more reports"
    return ""


def _seconds(contract: Contract) -> float:
    """After how many seconds each person's guarantee is given anew."""
    return math.inf if contract.period is None else contract.period.seconds


def _weaker_issuer(new: Contract, old: Contract) -> str:
    """A sentence on how a contract admits people with less care than another; empty if it does not."""
    now, before = new.issuer, old.issuer
    if before is None:
        return ""
    if now is None:
        return "it takes what comes without a token, so that one client may be many people"
    if now.keys != before.keys[: len(now.keys)]:
        return "its issuer is another"
    return "its issuer is run by the collector's operator" if now.name == new.operator != before.name else ""


def _check(document: dict[str, Any], design: Design) -> None:
    """Refuse a contract whose words and design differ, or that asks for what this version cannot keep."""
    known = design.trust == LOCAL or design.trust in ROLES
    if not known or design.calibration == PAPER or design.episodes != 1:
        raise ValueError("only contracts with trust local, shuffle or joint, of one episode a visit, are kept here")
    for name, statement in json.loads(json.dumps(stated(design))).items():
        if document[name] != statement:
            raise ValueError(f"what it says of its {name} is not what its design does")
    if document["reports_per_person"] != design.participation.times:
        raise ValueError("it asks for another number of reports than its design prices")
    _check_labels(document["labels"], design)
    if len(from_base64(document["key"])) != KEY_BYTES:
        raise ValueError("its key is no Ed25519 key")
    validation.between("window", document["window"]["seconds"], 0, 30 * 86400)
    if design.trust in ROLES:
        Intermediary.from_json(document["intermediary"], design, float(document["window"]["seconds"]))
    if document["issuer"] is not None:
        TokenIssuer.from_json(document["issuer"])
    if "period" in document:
        Periods.from_json(document["period"])
    learner = document["learner"]
    if not isinstance(learner["name"], str) or not isinstance(learner["options"], dict):
        raise ValueError("it does not name its learner")
    validation.integer("expected", learner.get("expected", 1), 1, design.schedule.users)
    for name in FORECAST if "forecast" in learner else ():
        if learner["forecast"][name] is not None:
            validation.integer(name, learner["forecast"][name], 1)
    for name in ("name", "operator"):
        if not isinstance(document[name], str) or not 0 < len(document[name]) <= 200:
            raise ValueError(f"its {name} is no word")


def _check_labels(named: dict[str, list[str]], design: Design) -> None:
    """Refuse labels that do not name all states and actions, or otherwise than a description does."""
    spec = design.question.spec
    for name, size in (("states", spec.states), ("actions", spec.actions)):
        labels = named[name]
        if len(labels) != size or len(set(labels)) != size or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"its labels do not name {size} {name}")
    described = design.question.described
    if described is not None and named["actions"] != list(described.actions_named):
        raise ValueError("its labels of actions are not those of its features")


def _counted(letter: str, size: int) -> list[str]:
    return [f"{letter}{number}" for number in range(size)]
