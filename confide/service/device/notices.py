"""How a device reports what went wrong: a callback and a log, never an error in the application that hosts it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Telling(Protocol):
    """Something that keeps notices."""

    def tell(self, kind: str, text: str) -> None:
        """Keep a notice."""


Teller = TypeVar("Teller", bound=Telling)
Arguments = ParamSpec("Arguments")
R = TypeVar("R")
A = TypeVar("A")


@dataclass(frozen=True)
class Notice:
    """kind: `offline`, `refused`, `dropped`, `input` or `broken`. text: one sentence; it never quotes an episode."""

    kind: str
    text: str


Listener = Callable[[Notice], None]


def tell(listener: Listener | None, kind: str, text: str) -> None:
    """Log a notice, and call the listener with it."""
    import logging

    logging.getLogger("confide.device").warning("%s: %s", kind, text)
    if listener is not None:
        try:
            listener(Notice(kind, text))
        except Exception:  # a listener's own error is not ours to pass on
            logging.getLogger("confide.device").exception("the listener of a device failed")


def quiet(
    answer: A,
) -> Callable[[Callable[Concatenate[Teller, Arguments], R]], Callable[Concatenate[Teller, Arguments], R | A]]:
    """Let a method of something with `tell` return `answer` where it would raise; a notice names the error's type."""

    def guard(method: Callable[Concatenate[Teller, Arguments], R]) -> Callable[Concatenate[Teller, Arguments], R | A]:
        @functools.wraps(method)
        def safely(self: Teller, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> R | A:
            try:
                return method(self, *args, **kwargs)
            except Exception as error:  # the host goes on, whatever happens here
                self.tell("broken", f"{method.__name__} failed with {type(error).__name__}; the application goes on.")
                return answer

        return safely

    return guard
