"""The roles of columns: which holds the person, the step, the state and so on; found by name, or declared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ... import validation
from ...errors import InvalidInput

USER, EPISODE, STEP, STATE, ACTION, REWARD, NEXT_STATE, ENDED, CUT, PROPENSITY, LOST, WEIGHT = (
    "user",
    "episode",
    "step",
    "state",
    "action",
    "reward",
    "next_state",
    "terminated",
    "truncated",
    "propensity",
    "lost",
    "weight",
)
ALIASES: dict[str, tuple[str, ...]] = {
    USER: (
        "user", "user_id", "userid", "person", "person_id", "patient", "patient_id", "subject", "subject_id",
        "customer", "customer_id", "member", "member_id",
    ),
    EPISODE: (
        "episode", "episode_id", "trajectory", "trajectory_id", "traj", "stay", "stay_id", "icustay_id", "visit_id",
        "session", "session_id",
    ),
    STEP: ("step", "h", "t", "timestep", "time_step", "step_id", "stage"),
    STATE: ("state", "s", "observation", "obs"),
    ACTION: ("action", "a", "act"),
    REWARD: ("reward", "r", "rew"),
    NEXT_STATE: ("next_state", "s_next", "next_s", "s_prime", "sp", "next_observation", "next_obs"),
    ENDED: ("terminated", "terminal", "terminals", "done", "dones", "terminations"),
    CUT: ("truncated", "timeout", "timeouts", "truncations"),
    PROPENSITY: (),
    LOST: (),
    WEIGHT: (),
}  # fmt: skip
ORDERED, EACH_ROW, FLAGGED = "confide: place in its episode", "confide: row", "confide: episode by its flags"
"""Columns of no file: the step of rows that are ordered by a column, a person for each row, and episodes distinguished by what
says that one is over."""

NEXT = "next_"
"""Before a state's column, where a state is made of several: the column of the state after."""


@dataclass(frozen=True)
class Columns:
    """The name of each column; states and actions may be made of several. None, or nothing, where there is no column.

    At least one of `user` and `episode` is there. Without a step rows are taken in the order in which they stand. order:
    the column that rows of an episode are ordered by, if one is; their step is then made from it. ended, cut: true in the
    last row of an episode that came to its end, or was not followed any further. propensity: with which probability a row's
    action was chosen; lost: true in the last row of an episode whose person was lost to follow-up; weight: how many people of
    the population each stands for. These three are never found by their names, since asking for more costs more.
    """

    user: str | None
    episode: str | None
    step: str | None
    state: tuple[str, ...]
    action: tuple[str, ...]
    reward: str | None
    next_state: tuple[str, ...]
    order: str | None = None
    ended: str | None = None
    cut: str | None = None
    propensity: str | None = None
    lost: str | None = None
    weight: str | None = None

    @property
    def by_row(self) -> bool:
        """Whether every row is taken for another person's."""
        return self.user == EACH_ROW

    @property
    def flags(self) -> tuple[str, ...]:
        """The columns that say that an episode is over."""
        return tuple(name for name in (self.ended, self.cut) if name is not None)

    @property
    def names(self) -> list[str]:
        """Every column that is read, once."""
        single = [name for name in (self.user, self.episode, self.step, self.reward) if name is not None]
        optional = [name for name in (self.ended, self.propensity, self.lost, self.weight) if name is not None]
        return list(dict.fromkeys([*single, *self.state, *self.action, *self.next_state, *optional]))


def parse(text: str) -> dict[str, str]:
    """`user=patient,step=day` as a dictionary; `next_state=` says that there is no such column."""
    names: dict[str, str] = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        role, equals, name = (word.strip() for word in piece.partition("="))
        if not equals:
            raise InvalidInput("columns-form", f"columns are given as role=name, separated by commas. Got {piece!r}.")
        names[validation.choice("column role", role, ALIASES)] = name
    return names


@dataclass(frozen=True)
class DeclaredColumns:
    """What is said of columns before they are looked for. roles: their names, as far as given. states, actions: the columns that
    public bin edges cut, if they do. order: the column to order rows by, if they tell no step. one_step: episodes have one row, so
    a row without a person is one.
    """

    roles: Mapping[str, str]
    states: Sequence[str] = ()
    actions: Sequence[str] = ()
    rewards_known: bool = False
    order: str | None = None
    one_step: bool = False


def find(names: Sequence[str], declared: DeclaredColumns) -> Columns:
    """The columns among `names`."""
    roles, order = declared.roles, declared.order
    for role, name in roles.items():
        validation.choice("column role", role, ALIASES)
        if name and name not in names:
            raise InvalidInput("column-missing", f"There is no column {name!r} for {role}. Found: {_list(names)}.")
    by_role = {role: _one(role, names, roles) for role in ALIASES}
    state = tuple(declared.states) or _some(by_role[STATE])
    action = tuple(declared.actions) or _some(by_role[ACTION])
    after = _some(by_role[NEXT_STATE]) if len(state) == 1 else ()
    if not after and NEXT_STATE not in roles and all(NEXT + name in names for name in state):
        after = tuple(NEXT + name for name in state)
    missing = [role for role, columns in ((STATE, state), (ACTION, action)) if not columns]
    missing += [name for name in (*state, *action) if name not in names]
    user, episode = by_role[USER], by_role[EPISODE]
    if user is None and episode is None and declared.one_step:
        user = EACH_ROW
    elif episode is None and (by_role[ENDED] or by_role[CUT]) and order is None:
        episode = FLAGGED
    elif user is None and episode is None:
        missing.insert(0, f"{USER} or {EPISODE}")
    if by_role[REWARD] is None and not declared.rewards_known:
        missing.append(REWARD)
    if missing:
        roles_missing = [name.split()[0] for name in missing if name.split()[0] in ALIASES] or missing[-1:]
        raise InvalidInput(
            "column-unsaid",
            f"The data has no column for {_list(missing)}. Found: {_list(names)}. "
            f"Say which they are: --columns {','.join(f'{role}=NAME' for role in roles_missing)}.",
        )
    twice = [
        name for name in (*state, *action) if name in (by_role[USER], by_role[EPISODE], by_role[STEP], by_role[REWARD])
    ]
    twice += [name for name in state if name in action]
    if twice:
        raise InvalidInput(
            "column-two-roles",
            f"Column {twice[0]!r} has two roles. Say which columns are states or actions more exactly.",
        )
    reward = None if declared.rewards_known else by_role[REWARD]
    step = by_role[STEP]
    if order is not None:
        if order not in names:
            raise InvalidInput(
                "order-column-missing", f"There is no column {order!r} to order by. Found: {_list(names)}."
            )
        if step is not None and step != order:
            raise InvalidInput(
                "order-and-step",
                f"Column {step!r} tells the step already. Leave --order-by out, or do without it: --columns step=.",
            )
        step = ORDERED
    return Columns(
        *(user, episode, step, state, action, reward, after, order),
        *(by_role[role] for role in (ENDED, CUT, PROPENSITY, LOST, WEIGHT)),
    )


def _one(role: str, names: Sequence[str], declared: Mapping[str, str]) -> str | None:
    if role in declared:
        return declared[role] or None
    candidates = [name for name in names if role_of(name) == role]
    if len(candidates) > 1:
        raise InvalidInput(
            "column-ambiguous",
            f"Columns {_list(candidates)} could all be the {role}. Say which: --columns {role}={candidates[0]}.",
        )
    return candidates[0] if candidates else None


def plain(name: str) -> str:
    """A column's name as it is looked for: `User ID`, `userId` and `user-id` are `user_id`."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_.]+", "_", separated).lower()


def role_of(name: str) -> str | None:
    """The role that a column's name stands for, singular or plural."""
    word = plain(name)
    single = word.removesuffix("s") if len(word) > 4 else word
    return next((role for role, names in ALIASES.items() if word in names or single in names), None)


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _list(names: Sequence[str]) -> str:
    """Names of columns; a number is none: where a file has no header, it is a user's data."""
    return ", ".join("(a number)" if _number(name) else name for name in names) or "none"


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True
