"""One example for the help of every command that has none of its own; a test runs each of them."""

from __future__ import annotations

import click

EXAMPLES = {
    "audit": "confide audit --trust local --mechanism laplace --epsilon 1",
    "budget": "confide budget log.parquet --rho 1",
    "certificate": "confide certificate policy/",
    "check": "confide check fit.toml",
    "compare": "confide compare policy/ --policies practice learned always:0",
    "curate": "confide curate tea --port 8001",
    "demo": "confide demo",
    "environments": "confide environments",
    "evaluate": "confide evaluate policy/ --env clinic",
    "explain": "confide explain policy/",
    "export": "confide export policy/ --to csv",
    "forecast": "confide forecast --states 6 --actions 3 --horizon 8 --rho 0.5",
    "init": "confide init records.csv",
    "issue": "confide issue tea-issuer --port 8002",
    "plot": "confide plot runs/one runs/other --out both.svg",
    "refit": "confide refit policy/ --pessimism hoeffding --out other/",
    "report": "confide report policy/ --open",
    "reproduce": "confide reproduce list",
    "serve": "confide serve tea --port 8000",
    "service backup": "confide service backup tea tea-monday",
    "service check": "confide service check tea",
    "service delete": "confide service delete tea --yes",
    "service demo": "confide service demo",
    "service end": "confide service end tea",
    "service export": "confide service export tea public/",
    "service new": "confide service new tea --states 6 --actions 2 --horizon 20 --trust local --epsilon 2 --people 100000",
    "service pause": "confide service pause tea",
    "service restore": "confide service restore tea-monday tea",
    "service resume": "confide service resume tea",
    "service rotate": "confide service rotate tea",
    "service succeed": "confide service succeed tea tea2",
    "service token": "confide service token tea",
    "shuffle": "confide shuffle tea --port 8001",
    "verdicts": "confide verdicts",
    "visit": "confide visit http://127.0.0.1:8000 --environment riverswim/3 --people 100 --login tea-issuer",
}
"""By command: one line that can be typed."""


def with_example(name: str, command: click.Command) -> click.Command:
    """The command with its example below its options; a group has them at its commands."""
    if isinstance(command, click.Group):
        for word, below in command.commands.items():
            with_example(f"{name} {word}", below)
    elif name in EXAMPLES:
        command.epilog = f"\b\nExample:\n  {EXAMPLES[name]}"
    return command
