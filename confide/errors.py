"""The errors confide raises on purpose: one sentence each, naming the thing, the rule, the value and the way out.

Each has a `code`, a few words in kebab-case that name the broken rule and stay when the sentence is reworded. All codes are
in docs/reference/codes.md; `--json` prints them, and services answer them in application/problem+json.
"""

from __future__ import annotations


class ConfideError(Exception):
    """Every error raised on purpose. The command prints it as one sentence and exits with `exit_code`.

    code: the rule that was broken, one for each rule. about: what broke it, where many things share a rule.
    """

    exit_code = 2

    def __init__(self, code: str, sentence: str, *, about: str = "") -> None:
        super().__init__(code, sentence)
        self.code, self.sentence, self.about = code, sentence, about

    def __str__(self) -> str:
        return self.sentence


class InvalidInput(ConfideError, ValueError):
    """Something given from outside breaks a rule."""


class UnknownName(InvalidInput, LookupError):
    """A name that no registry holds."""


class FormatError(ConfideError, ValueError):
    """Bytes or a file that confide cannot vouch for: wrong version, damaged, or outside its limits."""


class PrivacyError(ConfideError):
    """It would break a guarantee, so it was not done."""


class UnsafeNoise(PrivacyError):
    """Replayable noise where real data is touched."""


class BudgetExceeded(PrivacyError):
    """A release that the ledger has no budget for."""


class MissingExtra(ConfideError, ImportError):
    """An optional dependency that is not installed."""


def install(extra: str) -> str:
    """The way out where an optional dependency is missing. No index has confide yet; its name there is free."""
    return f"Run in a clone of confide: pip install '.[{extra}]'"


class NoiseWarning(UserWarning):
    """What is simulated drowns in the noise of its guarantee: its results show the noise, not the learner."""


class RecordWarning(UserWarning):
    """What is read was made by other sources of this package than those that read it."""


class NotRecommended(UserWarning):
    """A policy is asked for actions that its own fit does not recommend in place of current practice."""


class Unfinished(ConfideError):
    """A fit whose release was paid for, and that failed afterwards. `fit` holds the release: learn from it by `refit`."""

    def __init__(self, code: str, sentence: str, fit: object = None) -> None:
        super().__init__(code, sentence)
        self.fit = fit
