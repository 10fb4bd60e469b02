"""Groups of simulated people: compiled loops beside the aggregates that real reports go through, and one release beside another.

Times are CPU seconds of one seed. The same settings; other seeds, as streams are used otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confide.lab.simulation import batched, category_loop, group_loop, prepare
from confide.lab.simulation.setting import Setting
from confide.lab.simulation.simulate import run_seed
from confide.lab.simulation.streams import spawn
from confide.privacy import Guarantee, Joint, Local, NoPrivacy, Shuffle

WORLD = "riverswim/6"
SOUND: dict[str, Any] = {"calibration": "sound", "bonus_scale": 0.01, "schedule": "growth:1.01"}
COMPILED: list[tuple[str, str, Guarantee, float, dict[str, Any], float]] = [
    ("UCB-VI under a tree", "ucbvi", Joint(1.0, 1e-6), 1e6, {**SOUND, "mechanism": "tree-gaussian"}, 1 / 4),
    ("LDP-OBI, Laplace", "obi", Local(1.0), 1e7, {**SOUND, "bonus": "paper", "mechanism": "laplace"}, 1 / 4),
    ("UCB-VI without privacy", "ucbvi", NoPrivacy(), 1e6, {"bonus": "private", "schedule": "growth:1.01"}, 1 / 4),
    ("ours, asked pairs", "ucbvi", Local(1.0), 1e7, {}, 1 / 4),
    ("ours, sampled steps", "ucbvi", Local(1.0), 1e7, {"mechanism": "unary"}, 1 / 4),
]
LARGE, LARGE_SECONDS = "random/300x4?seed=1", 60.0
SIZES = ((1000, 200_000), (10_000, 1_000_000))
HONEST = {"claimed": True, "honest": 0.5}


def groups() -> list[dict[str, Any]]:
    """Compiled loops, a large world under local privacy, and a shuffled release beside a joint one of as many people."""
    rows = []
    for name, learner, promise, people, choices, goal in COMPILED:
        setting = prepare(learner, WORLD, promise, people, **choices)
        loop = next(each for each in (group_loop, category_loop) if each.supports(setting))
        ours = _seconds(lambda root, loop=loop, setting=setting: loop.run(setting, root))
        theirs = _seconds(lambda root, setting=setting: batched.run_by_aggregates(setting, root), times=2)
        rows.append(_row(f"{name}, {setting.schedule.releases:,} releases", ours, "aggregates", theirs, goal))
    large = prepare("ucbvi", LARGE, Local(1.0), 1e5, horizon=20)
    name = f"local, {LARGE}, H = 20, 10^5 people"
    rows.append(_row(name, _seed(large, times=2), "goal", LARGE_SECONDS, 1.0))
    for size, people in SIZES:
        joint = prepare("ucbvi", WORLD, Joint(1.0, 1e-6), people, schedule=f"batches:{people // size}")
        theirs = _seed(joint) / joint.schedule.releases
        for noise, choices in (("flipped bits", {}), ("shares", HONEST)):
            batches: dict[str, Any] = {"batch": size, "widening": False, **choices}
            shuffled = prepare("ucbvi", WORLD, Shuffle(1.0, 1e-6), people, **batches)
            ours = _seed(shuffled) / shuffled.schedule.releases
            rows.append(_row(f"a release of {noise}, {size:,} people", ours, "a joint release", theirs, 1.0))
    return rows


def _seed(setting: Setting, times: int = 3) -> float:
    return _seconds(lambda root: run_seed(setting, int(root.generate_state(1)[0] % 1000)), times)


def _seconds(play: Callable[[Any], object], times: int = 3) -> float:
    """CPU seconds of the quickest of several seeds, after one that compiles."""
    warm, *roots = spawn(0, times + 1)
    play(warm)
    found = []
    for root in roots:
        started = time.process_time()
        play(root)
        found.append(time.process_time() - started)
    return min(found)


def _row(name: str, ours: float, other: str, theirs: float, goal: float) -> dict[str, Any]:
    ratio = ours / theirs
    return {
        "name": name,
        "ratio": ratio,
        "goal": goal,
        "ok": ratio <= goal,
        "seconds": {"confide": ours, other: theirs},
    }
