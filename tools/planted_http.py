"""Mutants of what servers share: each lets a process load what it must do without, or say less or more than it should."""

from __future__ import annotations

from .planted import Mutant

PACKAGES, SERVING = "tests/test_packages.py", "tests/service/http/test_serving.py"
LOADS = "The noise is as certified: what a process has loaded is not what it sends."
SAYS = "The noise is as certified: what is said to an operator is not what is drawn."

CONNECTIONS = "tests/service/http/test_connections.py"

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
    Mutant(
        "a server that cannot count says that it is ready",
        "service/http/application.py",
        "        if not self._worked:\n",
        "        if False:\n",
        ("tests/service/collector/test_frozen.py::test_ready_means_that_a_commit_goes_through",),
        unseen=SAYS,
    ),
    Mutant(
        "one client may open any number of connections",
        "service/http/connections.py",
        "        if count > rules.most_of_one and not rules.exempt(host):\n",
        "        if False:\n",
        (f"{CONNECTIONS}::test_a_client_with_too_many_is_told_and_welcome_when_it_has_fewer",),
        unseen=SAYS,
    ),
    Mutant(
        "a backup is restored although a later round was published",
        "cli/kit.py",
        "    if other is not None and other.head.round > number:\n",
        "    if False:\n",
        ("tests/cli/test_kit.py::test_a_backup_of_a_running_service_is_whole_and_an_older_one_is_not_restored",),
        unseen="The noise is as certified: what is restored is refused by devices and witnesses, later.",
    ),
)
