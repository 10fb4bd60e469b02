"""The catalogue: every privatizer of every trust model is in it, and none gives away more than it certifies."""

from __future__ import annotations

import pytest

from confide.audit import Entry, entries, find
from confide.audit.alone import ALONE
from confide.designs import joint
from confide.designs import local_counts as local
from confide.errors import InvalidInput, UnknownName
from confide.mechanisms.noise import ReplayableNoise

FALSE_ALARM = 1e-6
# Bounded noise takes seconds to calibrate; alone it is audited with the other mechanisms.
QUICK = [entry for entry in entries() if entry.calibration != "none" and entry.mechanism != "bounded"]


@pytest.mark.parametrize("entry", QUICK, ids=lambda entry: f"{entry.name}-{entry.calibration}")
def test_no_privatizer_is_flagged(entry: Entry) -> None:
    found = entry.audit(1.0, samples=3000, confidence=1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert (found.name, found.trust, found.calibration) == (entry.name, entry.trust, entry.calibration)
    assert found.ok
    if entry.calibration != "paper":
        assert found.certified_epsilon == pytest.approx(1, abs=2e-3)


def test_every_trust_model_and_mechanism_is_there() -> None:
    known = {(entry.trust, entry.mechanism, entry.calibration) for entry in entries()}
    for calibration in ("tight", "sound"):
        assert {("local", name, calibration) for name in local.MECHANISMS} <= known
        assert {("joint", name, calibration) for name in joint.MECHANISMS} <= known
        assert {("central", name, calibration) for name in ("laplace", "gaussian")} <= known
        assert ("shuffle", "shuffled-bits", calibration) in known
    assert {(trust, name, "none") for trust, makers in ALONE.items() for name in makers} <= known
    assert len({(entry.name, entry.calibration) for entry in entries()}) == len(entries())


def test_finding_entries() -> None:
    assert find() == entries()
    assert {entry.trust for entry in find(trust="joint")} == {"joint"}
    assert find("local", "k-ary", ("tight",)) == [Entry("k-ary", "local", "tight")]
    with pytest.raises(UnknownName):
        find(mechanism="unheard of")
    with pytest.raises(InvalidInput, match="nothing to audit"):
        find("central", "k-ary")
