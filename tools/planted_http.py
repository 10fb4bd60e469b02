"""Mutants of what servers share: each lets a process load what it must do without, or say less or more than it should."""

from __future__ import annotations

from .planted import Mutant

PACKAGES, SERVING = "tests/test_packages.py", "tests/service/http/test_serving.py"
LOADS = "The noise is as certified: what a process has loaded is not what it sends."
SAYS = "The noise is as certified: what is said to an operator is not what is drawn."

MUTANTS = (
    Mutant(
        "a shuffler and a curator load the collector to read their folder",
        "service/intermediary/folder.py",
        "from ..contract.folder import Folder\n",
        "from ..collector.founding import Folder\n",
        (f"{PACKAGES}::test_an_intermediary_imports_no_collector_and_no_learner",),
        unseen=LOADS,
    ),
    Mutant(
        "a curator loads learners when it serves",
        "service/intermediary/serving.py",
        "    from .batch_manager import BatchManager\n",
        "    from .batch_manager import BatchManager\n    from ...learning import learners  # noqa: F401\n",
        (f"{PACKAGES}::test_the_contracts_are_kept",),
        unseen=LOADS,
    ),
    Mutant(
        "what servers share is not logged as JSON",
        "service/http/serving.py",
        "(LOGGER, logging.INFO), ",
        "",
        (f"{SERVING}::test_a_commit_that_fails_is_one_line_of_json_at_every_server",),
        unseen=SAYS,
    ),
    Mutant(
        "any word after Bearer is the operator's token",
        "service/http/application.py",
        'hmac.compare_digest(shown.strip().encode(), token.encode()) and kind.lower() == "bearer"',
        'bool(shown) and kind.lower() == "bearer"',
        ("tests/service/http/test_application.py::test_only_the_operators_token_opens_what_is_not_public",),
        unseen=SAYS,
    ),
)
