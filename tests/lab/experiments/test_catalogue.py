"""Every figure and table has an address, says what it shows, and what it guarantees is true."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields, is_dataclass

import pytest

from confide.errors import InvalidInput
from confide.lab.experiments import vtr
from confide.lab.experiments.curve import Curve
from confide.lab.experiments.experiment import ADDRESSES, catalogue, chosen
from confide.lab.experiments.publishing import GROUPS
from confide.lab.experiments.reference import REFERENCE
from confide.lab.experiments.shuffled import BATCHES, LEAST, found_batch
from confide.lab.simulation import prepare

EXPECTED = {
    "private-ucb/table-1-joint",
    "private-ucb/table-1-local",
    "private-ucb/as-printed",
    *(f"ldp-obi/figure-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9)),
    "ldp-obi/table-1",
    "ldp-obi/lower-bound",
    "ldp-obi/theorem-5",
    "ldp-obi/proposition-4",
    "shuffled-obi/table-1",
    "shuffled-obi/theorem-6",
    "shuffled-obi/repair",
    "shuffled-obi/burn-in",
    *(f"ldp-ucrl-vtr/figure-2-{name}" for name in ("3", "3-inhomogeneous", "5", "5-inhomogeneous")),
    "ldp-ucrl-vtr/lower-bound",
    "ldp-ucrl-vtr/lemma-5.5",
    "ldp-ucrl-vtr/theorem-5.2",
    "offline/figure-1a",
    "offline/figure-1b",
    "offline/theorem-3.3",
    "offline/theorem-4.1",
    "ours/worlds",
    "ours/cost-of-privacy",
    "ours/rivals",
    "ours/bandits",
    "ours/features",
    "ours/claimed-and-true",
    "ours/joint-riverswim",
    "ours/local-riverswim",
    *(f"ours/local-random-{epsilon}" for epsilon in ("0.2", "2", "20")),
    "ours/offline-clinic",
    "ours/icu-sepsis",
}


def test_everything_is_there() -> None:
    assert set(catalogue()) == EXPECTED


@pytest.mark.parametrize("address", sorted(EXPECTED))
def test_each_says_what_it_is(address: str) -> None:
    one = catalogue()[address]
    assert one.address == address and address.partition("/")[0] in GROUPS
    assert one.title and one.scale and one.minutes > 0
    assert one.paper.endswith((".", "?"))
    # What is plain words has no number in it that could disagree with its data.
    assert callable(one.seen) or (one.seen.endswith(".") and not re.search(r"\d", one.seen))
    assert all(is_dataclass(part) and fields(part) for part in one.parts)
    # A legend that says the same twice, or a page that shares no colour with it, tells nothing.
    assert len({part.label for part in one.parts}) == len(one.parts)


def test_to_run_one_experiment_the_others_are_not_imported() -> None:
    """And the table of addresses is that of the modules, in their order."""
    assert list(ADDRESSES) == list(catalogue())
    code = (
        "import sys; from confide.lab.experiments.experiment import chosen; chosen(('private-ucb/table-1-joint',)); "
        "print(*sorted(name.rpartition('.')[2] for name in sys.modules if name.startswith('confide.lab.experiments.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "private_ucb" in loaded and not {"worlds", "cost", "ldp_obi", "offline", "shuffled", "vtr"} & set(loaded)


def test_addresses_may_stand_for_many() -> None:
    assert [one.address for one in chosen(("ldp-obi/figure-1",))] == ["ldp-obi/figure-1"]
    assert {one.address for one in chosen(("offline", "offline/figure-1a"))} == {
        "offline/figure-1a",
        "offline/figure-1b",
        "offline/theorem-3.3",
        "offline/theorem-4.1",
    }
    assert len(chosen(("all",))) == len(EXPECTED)
    with pytest.raises(InvalidInput, match="ldp-obi/figure-1"):
        chosen(("ldp-obi/figure-11",))


def _curves() -> list[Curve]:
    cheap = ("obi", "ucbvi", "po", "psrl", "pucb")
    results = {}
    for one in catalogue().values():
        for part in one.parts:
            for curve in getattr(part, "curves", (part,)):
                if isinstance(curve, Curve) and curve.learner in cheap and curve.choices.get("mechanism") != "bounded":
                    key = (curve.learner, str(curve.privacy), curve.choices.get("calibration"))
                    results.setdefault((*key, curve.choices.get("mechanism")), curve)
    return list(results.values())


@pytest.mark.parametrize("curve", _curves(), ids=lambda curve: f"{curve.label} {curve.privacy}")
def test_what_a_list_promises_is_kept(curve: Curve) -> None:
    """The list says what was asked for where that is kept: the certificate must guarantee no less."""
    options = {key: value for key, value in curve.choices.items() if key not in ("seed", "engine")}
    true = prepare(curve.learner, curve.world, curve.privacy, curve.episodes, **options).certificate().guarantee
    if curve.choices.get("calibration") == "paper":
        assert str(true) in curve.promise()
    elif curve.privacy.epsilon is not None:
        assert true.epsilon is not None and true.trust == curve.privacy.trust
        assert true.epsilon <= curve.privacy.epsilon * (1 + 1e-9) and true.delta <= curve.privacy.delta


def test_pairs_compare_like_with_like() -> None:
    pairs = catalogue()["ours/cost-of-privacy"].parts
    for sound, tight in zip(pairs[::2], pairs[1::2], strict=True):
        assert sound.label.removesuffix(": sound") == tight.label.removesuffix(": tight")
        for name in ("world", "episodes", "learner", "people"):
            if "DP-VAPVI" not in sound.label:
                assert getattr(sound, name, None) == getattr(tight, name, None), (sound.label, name)
        one, other = sound.privacy, tight.privacy
        assert (one.trust, one.epsilon, one.rho) == (other.trust, other.epsilon, other.rho) and one.delta <= other.delta


@pytest.mark.parametrize(
    ("mechanism", "local"), [("shuffled-step", 4.0), ("shuffled-step", 10.0), ("shuffled-bits", 16.0)]
)
def test_batches_are_the_smallest_that_work(mechanism: str, local: float) -> None:
    assert BATCHES[mechanism][local] == found_batch(mechanism, local)


def test_larger_local_epsilons_need_larger_batches_and_none_is_below_the_least() -> None:
    for batches in BATCHES.values():
        assert sorted(batches) == list(batches) and sorted(batches.values()) == list(batches.values())
    parts = catalogue()["shuffled-obi/table-1"].parts
    sizes = [part.choices["batch"] for part in parts if isinstance(part, Curve) and "batch" in part.choices]
    assert min(sizes) == LEAST and len(sizes) == sum(map(len, BATCHES.values())) == len(parts) - 2


def test_constants_of_figure_2_were_tried() -> None:
    for name in ("3", "3-inhomogeneous", "5", "5-inhomogeneous"):
        one = catalogue()[f"ldp-ucrl-vtr/figure-2-{name}"]
        assert len(one.parts) == 3 + 3 * len(vtr.EPSILONS)
        names = {vtr.OPEN: "no privacy", vtr.OPEN_PRINTED: "as printed"}
        for part in one.parts:
            if part.label == REFERENCE:
                continue
            kind = names.get(part.label, part.label.split(",")[0])
            assert isinstance(part, Curve)
            if kind in ("tight", "joint"):  # ours has default settings
                assert set(part.choices) == {"calibration", "seed"}
            else:
                assert part.choices["c"] in vtr.GRIDS[kind]
