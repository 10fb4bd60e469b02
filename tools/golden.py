"""Writes what this version writes, once, for all later versions to read: `python -m tools.golden`.

Into `tests/golden/VERSION`, which must not exist: fits, runs, a ledger, a contract and a release, and `expected.json`, what they
say. `tests/test_golden.py` reads those of every version.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from confide import Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
from confide._version import __version__
from confide.analysis.fitting import fit
from confide.analysis.results.fit import Fit
from confide.analysis.results.run import Run
from confide.data.privatizers import open_aggregate, respond
from confide.data.trajectories import read
from confide.data.trajectories.trajectory import Trajectory
from confide.lab.environments import linear_mdp, make
from confide.lab.simulation import simulate
from confide.lab.simulation.offline import known_model, practice_of
from confide.lab.simulation.offline_log import draw_records
from confide.mdp import Spec
from confide.privacy import Ledger, Schedule
from confide.protocol.design import Request
from confide.protocol.design import make as make_design
from confide.protocol.kinds import CountQuestion
from confide.service.contract import Contract, keys

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
PEOPLE, KEY = 200, bytes(range(32))
FITS: dict[str, tuple[str, str, Guarantee]] = {
    "tabular": ("random/3x2?seed=5", "apvi", Central(rho=0.5)),
    "laplace": ("random/3x2?seed=5", "apvi", Central(epsilon=1.0)),
    "linear": ("linear-mdp", "pevi", Central(rho=0.5)),
}
RUNS: dict[str, Guarantee] = {
    "run-joint": Joint(1.0, 1e-6),
    "run-local": Local(2.0),
    "run-shuffle": Shuffle(1.0, 1e-6),
    "run-none": NoPrivacy(),
}


def fitted(name: str, out: Path, folder: Path) -> dict[str, Any]:
    """Fit a drawn log; what its folder says."""
    address, learner, promise = FITS[name]
    world = make(address, 4)
    model = known_model(world)
    records = draw_records(model, practice_of(world, None), PEOPLE, np.random.default_rng(0))
    data = read(records, states=model.spec.states, actions=model.spec.actions, horizon=4, fixed_length=True)
    options = {"features": linear_mdp.features()} if name == "linear" else {}
    fit(data, learner, promise, ledger=folder / f"{name}.json", budget=2.0, out=out / name, **options)
    for page in ("report.html", "card.html"):  # made again at every refit, and read by no version
        (out / name / page).unlink()
    return said_of_fit(Fit.load(out / name))


def said_of_fit(result: Fit) -> dict[str, Any]:
    """What must be read of a fit, by every version."""
    actions = result.table().actions.tolist()
    return {"guarantee": str(result.certificate.guarantee), "users": result.users, "actions": actions}


def said_of_run(result: Run) -> dict[str, Any]:
    """What must be read of a run, by every version."""
    return {"guarantee": str(result.certificate.guarantee), "regret": result.regret[:, -1].tolist()}


def designed() -> Any:
    """The design of the contract: asked of ten people, in two rounds."""
    return make_design(Request(CountQuestion(Spec(3, 2, 4)), Local(4.0), Schedule.batches(10, 2), mechanism="k-ary"))


def write(out: Path) -> dict[str, Any]:
    """Write everything into a folder; what its files say."""
    expected: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in FITS:
            expected[name] = fitted(name, out, Path(temporary))
    for name, promise in RUNS.items():
        simulate("ucbvi", "riverswim/3", promise, 2000, 2, horizon=4).save(out / name)
        expected[name] = said_of_run(Run.load(out / name))
    ledger = Ledger(out / "ledger.json")
    ledger.open(2.0)
    ledger.charge(0.75, "fit")
    ledger.certify(0, "ab" * 32)
    expected["ledger"] = {"budget": 2.0, "left": ledger.charge(0.25).left}
    (out / "ledger.json.lock").unlink()
    learner = {"name": "ucbvi", "options": {}, "failure": 0.1, "bonus_scale": 1.0}
    design = designed()
    contract = Contract.written(design, name="tea", operator="Tea Ltd", key=keys.public_key(KEY), learner=learner)
    (out / "contract.json").write_bytes(contract.data)
    aggregate = open_aggregate(design)
    for _ in range(5):
        zeros = np.zeros(5, dtype=np.int64)
        aggregate.take(respond(design, design.question, Trajectory(zeros, zeros[:4], np.ones(4))))
    release = aggregate.close()
    (out / "release").write_bytes(release.to_bytes())
    expected["contract"] = {"digest": contract.digest.hex(), "guarantee": str(contract.design.guarantee)}
    expected["release"] = {"users": release.users, "visits": release.counts.visits.ravel().tolist()}
    return expected


if __name__ == "__main__":
    place = GOLDEN / __version__
    if place.exists():
        sys.exit(f"{place} is there already: what a version wrote is not written anew.")
    place.mkdir(parents=True)
    (place / "expected.json").write_text(json.dumps(write(place), indent=1) + "\n", encoding="utf-8")
    print(f"written: {place}")
