"""Functions people can read: at most six parameters, or a reason. How many branches they may have, ruff says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARAMETERS = 6
TYPED = "keywords that a user types, completes and looks up"
FLAGS = "the flags of a command"
COMPILED = (
    "a compiled loop: it writes into arrays that are handed to it, and a call of its own would cost more than the work"
)
MANY = {
    "protocol/defaults.py request_for": "all that may be left open of a simulation or a service, by keyword",
    **dict.fromkeys(
        (
            "service/contract/contract.py Contract.written",
            "protocol/trusts/shuffle_forecast.py shuffle_forecast",
            "service/device/device.py Device.__init__",
            "service/device/device.py Device.join",
            "analysis/fitting/fit.py fit",
            "analysis/fitting/forecast.py forecast",
            "mdp/knowledge.py Knowledge.declared",
            "analysis/reporting/figures.py regret_figure",
            "analysis/reporting/figures.py ratio_figure",
            "lab/simulation/offline.py prepare_offline",
            "lab/simulation/offline_linear.py simulate_linear",
            "lab/simulation/simulate.py simulate",
            "lab/simulation/tune.py tune",
            "lab/staging/visits.py Visitors.__init__",
            "lab/staging/visits.py visit",
        ),
        TYPED,
    ),
    **dict.fromkeys(
        (
            "cli/audit.py _audited",
            "cli/plot.py command",
            "cli/reproduce.py command",
            "cli/serve.py command",
            "cli/visit.py command",
            "service/collector/serving.py serve",
        ),
        FLAGS,
    ),
    **dict.fromkeys(
        (
            "lab/audit/shuffle_attacks.py episodes",
            "mechanisms/sampler.py _all_exp",
            "mechanisms/sampler.py _fill",
            "learning/planning/induction.py backward_induction",
            "learning/planning/value_targeted.py confidence_radius",
            "learning/planning/value_targeted.py plan",
            "lab/simulation/draws.py draw_sampled_at",
            "lab/simulation/draws.py walk_budgeted",
            "lab/simulation/category_loop.py answer",
            "lab/simulation/category_loop.py loop",
            "lab/simulation/group_loop.py loop",
            "lab/simulation/shuffle_loop.py loop",
        ),
        COMPILED,
    ),
    "analysis/fitting/plan.py CountPlan.of": "what is chosen of all that a fit asks",
    "data/statistics/counting.py count_part": "a part, what is asked of it, whose episodes count, and how it is read",
    "lab/audit/events.py _events": "two samples, and the numbers of the search between them",
}
"""Functions of more than six parameters, each with its reason."""


def functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Every function by its name, with the number of its parameters, without `self`, and of its lines."""

    def visit(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
        for child in (each for name in ("body", "orelse", "finalbody", "handlers") for each in getattr(node, name, ())):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            inside = (*names, child.name) if named else names
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                each = child.args
                parameters = [one.arg for one in (*each.posonlyargs, *each.args, *each.kwonlyargs)]
                lines = (child.end_lineno or child.lineno) - child.lineno + 1
                yield ".".join(inside), sum(name not in ("self", "cls") for name in parameters), lines
            yield from visit(child, inside)

    return visit(tree, ())


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[int, int]]:
    """Parameters and lines of every function of the package, by file and name."""
    package = ROOT / "confide"
    return {
        f"{path.relative_to(package).as_posix()} {name}": (parameters, lines)
        for path in sorted(package.rglob("*.py"))
        for name, parameters, lines in functions(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_functions_have_few_parameters(measured: dict[str, tuple[int, int]]) -> None:
    assert {name for name, (parameters, _) in measured.items() if parameters > PARAMETERS} == set(MANY)


def test_functions_are_counted_with_all_their_parameters() -> None:
    tree = ast.parse("class A:\n    def f(self, a, /, b, *c, d=1, **e):\n        def g(): ...\n        return g\n")
    assert list(functions(tree)) == [("A.f", 3, 3), ("A.f.g", 0, 1)]
