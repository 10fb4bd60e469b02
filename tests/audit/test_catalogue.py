"""The catalogue: every privatizer of every trust model is in it, and none gives away more than it certifies."""

from __future__ import annotations

import pytest

from confide.audit import Entry, entries, find
from confide.audit.alone import ALONE
from confide.designs import joint, tables
from confide.designs import local_counts as local
from confide.errors import InvalidInput, UnknownName
from confide.mechanisms.noise import ReplayableNoise

FALSE_ALARM = 1e-6
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


def label(entry: Entry) -> str:
    return f"{entry.name}-{entry.calibration}"


def chosen(entry: Entry) -> object:
    return pytest.param(entry, id=label(entry), marks=() if label(entry) in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("entry", [chosen(entry) for entry in WHOLE])
def test_no_privatizer_is_flagged(entry: Entry) -> None:
    found = entry.audit(1.0, samples=3000, confidence=1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert (found.trust, found.calibration) == (entry.trust, entry.calibration)
    assert found.name == entry.name
    assert found.ok and found.pairs >= 2
    if entry.calibration != "paper":
        assert found.certified_epsilon <= 1 + 1e-9


def test_what_is_quick_is_there() -> None:
    assert {label(entry) for entry in WHOLE} >= QUICK


def test_every_trust_model_and_mechanism_is_there() -> None:
    known = {(entry.trust, entry.mechanism, entry.calibration) for entry in entries()}
    for calibration in ("tight", "sound"):
        assert {("local", name, calibration) for name in local.MECHANISMS} <= known
        assert {("joint", name, calibration) for name in joint.MECHANISMS} <= known
        assert {("central", name, calibration) for name in ("laplace", "gaussian")} <= known
        assert {("shuffle", name, calibration) for name in ("shuffled-bits", "shuffled-step")} <= known
    kinds = {(entry.kind, entry.trust) for entry in entries()}
    in_fits = {"gram", "returns", "worth"}
    assert {pair for pair in tables.MAKERS if pair[1] != "none" and pair[0] not in in_fits} <= kinds
    assert {entry.name for entry in entries()} >= {"fit/gram", "fit/gram/split", "fit/gaussian/h3", "fit/laplace/group"}
    assert {(trust, name, "none") for trust, makers in ALONE.items() for name in makers} <= known
    assert len({(entry.name, entry.calibration) for entry in entries()}) == len(entries())


def test_finding_entries() -> None:
    assert find() == entries()
    assert {entry.trust for entry in find(trust="joint")} == {"joint"}
    settings = ("", "h3", "h2-per-step")
    assert find("local", "k-ary", ("tight",)) == [Entry("k-ary", "local", "tight", setting=one) for one in settings]
    with pytest.raises(UnknownName):
        find(mechanism="unheard of")
    with pytest.raises(InvalidInput, match="nothing to audit"):
        find("central", "k-ary")
