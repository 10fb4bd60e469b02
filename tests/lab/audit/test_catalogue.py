"""The catalogue: every privatizer of every trust model is in it, and none gives away more than it certifies."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest

from confide.errors import InvalidInput, UnknownName
from confide.lab.audit import AuditEntry, entries, find
from confide.lab.audit.alone import ALONE
from confide.lab.audit.catalogue import requested
from confide.lab.audit.settings import PROBLEMS, AuditSetting
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import TRUSTS
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds.kind import KINDS, every
from confide.protocol.trusts import trust as trusts
from confide.protocol.trusts.mixing import Mixing

FALSE_ALARM = 1e-6
# Kinds of question that are asked within fits only, and attacked there.
IN_FITS = {"budgeted", "gram", "judged", "returns", "values"}
# One of each kind, trust model, setting and calibration; `confide audit --all` is for everything.
QUICK = {
    "local/k-ary/h3-tight",
    "local/laplace/h2-per-step-tight",
    "local/gaussian-sound",
    "local/laplace/private-ucb-paper",
    "shuffle/shuffled-step/h2-per-step-tight",
    "joint/toeplitz/budgeted-tight",
    "joint/tree-laplace/h3-tight",
    "central/laplace/group-tight",
    "local/mixture-tight",
    "joint/mixture-tight",
    "fit/gaussian/h3-tight",
}
WHOLE = [entry for entry in entries() if entry.calibration != "none"]


def label(entry: AuditEntry) -> str:
    return f"{entry.name}-{entry.calibration}"


def chosen(entry: AuditEntry) -> object:
    return pytest.param(entry, id=label(entry), marks=() if label(entry) in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("entry", [chosen(entry) for entry in WHOLE])
def test_no_privatizer_is_flagged(entry: AuditEntry) -> None:
    finding = entry.audit(1.0, samples=3000, confidence=1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert (finding.trust, finding.calibration) == (entry.trust, entry.calibration)
    assert finding.name == entry.name
    assert finding.ok and finding.pairs >= 2
    if entry.calibration != "paper":
        assert finding.certified_epsilon <= 1 + 1e-9


def test_what_is_quick_is_there() -> None:
    assert {label(entry) for entry in WHOLE} >= QUICK


def designed() -> list[tuple[str, str]]:
    """Which kinds of question can be asked for under which trust model."""
    by_trusts = [(kind, trust) for trust in TRUSTS for kind in trusts.find(trust).designers()]
    return [*by_trusts, *((kind.name, trust) for kind in every() if kind.name in KINDS for trust in kind.designers())]


def test_every_trust_model_and_mechanism_is_there() -> None:
    """Whatever the tables of designs name, tight and sound; what only fits ask is attacked as a fit."""
    known = {(entry.kind, entry.trust, entry.mechanism, entry.calibration) for entry in entries()}
    fits = {entry.mechanism.partition("/")[0] for entry in entries() if entry.kind == "fit"}
    for kind, trust in designed():
        if trust != "none" and kind not in IN_FITS:
            names = requested(kind, trust) or ("auto",)
            wanted = {(kind, trust, name, how) for name in names for how in ("tight", "sound")}
            assert wanted - {("counts", "shuffle", "skellam", "sound")} <= known  # which no paper has
    assert {kind for kind, trust in designed() if kind not in PROBLEMS} <= IN_FITS
    assert fits == {*requested("counts", "central"), "gram", "gram-laplace"}
    assert {entry.name for entry in entries()} >= {"fit/gram", "fit/gram/split", "fit/gaussian/h3", "fit/laplace/group"}
    assert {("counts", trust, name, "none") for trust, makers in ALONE.items() for name in makers} <= known
    assert len({(entry.name, entry.calibration) for entry in entries()}) == len(entries())


Signature = tuple[str, str, str, str, bool, bool]


def signature(design: Design) -> Signature:
    """What an attack on one design says of another: who is trusted, what is reported, by which noise, per step, by a tree."""
    tree = design.mixing is not None and design.mixing.tree
    statement = (design.trust, design.calibration, design.question.kind, design.mechanism.name)
    return (*statement, design.question.spec.layers > 1, tree)


def made() -> set[Signature]:
    """All that can be had by naming a mechanism or leaving it to auto, with any budget, guarantee, model and mixing."""
    results: set[Signature] = set()
    for kind, trust in designed():
        if trust == "none" or kind in IN_FITS:
            continue
        mixings = (Mixing(10), Mixing(10, reward_bits=2), Mixing(10, tree=True)) if trust == "shuffle" else (None,)
        names = [name for name in ("auto", *requested(kind, trust)) if name != "bounded"]  # it is slow
        promises = (
            Guarantee(trust, 1.0, 0.01),
            *(() if mixings[0] else (Guarantee(trust, 1.0), Guarantee(trust, rho=0.1))),
        )
        budgets = (None, 0, 3) if trust in ("local", "joint") else (None,)
        specs = (Spec(2, 2, 1), Spec(2, 2, 3), Spec(2, 2, 2, "per-step"))
        shares = (0, 3) if trust == "local" else (0,)
        for name, promise, spec, mixing, budget, one_in in product(names, promises, specs, mixings, budgets, shares):
            users = 20 if mixing else 2
            schedule = Schedule.sized(users, 10) if mixing else Schedule.batches(users, 2 if trust == "joint" else 1)
            asked = PROBLEMS[kind](AuditSetting("", spec, schedule))
            with suppress(InvalidInput):  # a question, guarantee, budget and mechanism that do not go together
                request = Request(asked, promise, schedule, mechanism=name, budget=budget, mixing=mixing, one_in=one_in)
                results.add(signature(make(request)))
    return results


def test_whatever_auto_or_a_flag_can_choose_is_attacked() -> None:
    attacked = {
        signature(entry.design(Guarantee(entry.trust, 1.0, entry.delta(None))))
        for entry in WHOLE
        if entry.calibration == "tight" and entry.kind != "fit" and entry.mechanism != "bounded"
    }
    chosen = made()
    assert {one[2] for one in chosen} == set(KINDS) - IN_FITS | {"budgeted"}  # which counts become
    assert chosen <= attacked, f"nothing attacks {sorted(chosen - attacked)}"


def test_finding_entries() -> None:
    assert find() == entries()
    assert {entry.trust for entry in find(trust="joint")} == {"joint"}
    settings = ("", "h3", "h2-per-step", "twice")
    found = [entry for entry in find("local", "k-ary", ("tight",)) if not entry.device]
    assert found == [AuditEntry("k-ary", "local", "tight", setting=one) for one in settings]
    with pytest.raises(UnknownName):
        find(mechanism="unheard of")
    with pytest.raises(InvalidInput, match="nothing to audit"):
        find("central", "k-ary")
