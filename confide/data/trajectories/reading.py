"""`read`: from files, tables, arrays and queries to a data set, with everything public declared and checked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY, Spec
from ...mdp.described import DescribedFeatures
from ...mdp.knowledge import Knowledge
from ...mdp.memory import check_memory
from ...validation import Json
from .columns import DeclaredColumns
from .dataset import ALL, GROUP, Dataset, SamplingWeights, Users, first_step
from .declaration import Declaration, Declared, EdgesDeclared, LabelsDeclared, RewardUnits, bin_edges, label_book
from .groups import PublicGroups
from .kinds import columns_of, order_kept, text_columns
from .labels import BY_CATEGORY, BY_END, MISSING_WAYS, Coding, Cut, Labelled, Numbered, coding
from .observations import Observations
from .places import DataSource, folders_of, home_of, parts_of
from .sources import DataPart
from .text_forms import TextForm
from .unpacking import unpacked
from .vectors import Vectors


def read(*sources: DataSource, **declared: Declared) -> Dataset:
    """Open logged trajectories and declare what is public about them. Only names, types and one step are looked at.

    Keywords are the fields of `Declaration`, each of which is explained there: `horizon`, `states` and `actions` first of all; then
    which columns are meant, public labels, edges and tables, the range of rewards, and how rows are ordered.
    """
    return open_declared(sources, Declaration.of(declared))


# Notebooks complete and show the keywords.
read.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("sources", inspect.Parameter.VAR_POSITIONAL, annotation="DataSource"),
        *inspect.signature(Declaration).parameters.values(),
    ],
    return_annotation="Dataset",
)


def open_declared(sources: Sequence[DataSource], declared: Declaration) -> Dataset:
    """The data set in these sources, as it is declared."""
    if not sources:
        raise InvalidInput("source-missing", "There is nothing to read. Give a file, a directory, a table or a query.")
    units, labels, edges = declared.units, label_book(declared.labels), bin_edges(declared.edges)
    if declared.features is not None:
        labels = {**labels, "actions": _actions(declared.features, declared.actions, labels.get("actions"))}
    action_code = coding("actions", declared.actions, labels, edges)
    cut = tuple(name for bins in edges.values() for name in bins.columns)
    parts = _parts(sources, declared.table, declared.form, cut)
    vectors = _vectors(declared, parts[0], action_code.size, (labels.get("states"), edges.get("states")))
    observed = _observations(declared, parts[0], (labels.get("states"), edges.get("states")))
    state_code: Coding = vectors or observed or _states(declared, labels, edges)
    spec = Spec(state_code.size, action_code.size, declared.horizon, declared.model or STATIONARY)
    check_memory(spec)
    knowledge = _knowledge(declared, spec, units)
    rewards_known = declared.rewards is not None
    wanted = DeclaredColumns(
        declared.roles, state_code.columns, action_code.columns, rewards_known, declared.order_by, spec.horizon == 1
    )
    columns = columns_of(parts, wanted, state_code, action_code)
    if observed is not None:
        if columns.cut is not None:
            raise InvalidInput(
                "features-know-no-losses",
                "Fits with described features know of no episodes that are not followed further. Take whole ones.",
            )
        columns = replace(columns, next_state=())  # what follows is what the next row observes
    groups = _groups(declared, parts)
    texts, inferred = text_columns(columns, state_code, action_code), order_kept(parts, columns)
    texts = texts if groups is None else (*texts, groups.column)
    users, order = declared.user_rule, declared.order
    unlisted = vectors is not None or observed is not None
    _check_lost(columns.lost is not None or declared.missing == BY_END, spec, unlisted, users)
    no_propensities = vectors is not None or rewards_known or users.mode == GROUP
    floor = _floor(columns.propensity, declared.propensity_floor, spec, no_propensities)
    order.check(columns, users, spec.horizon)
    parts = order.arranged(tuple(part.reading(texts, inferred) for part in parts), columns, spec.horizon)
    return Dataset(
        parts,
        knowledge,
        columns,
        state_code,
        action_code,
        units.range,
        declared.clip,
        users,
        0 if columns.order is not None else first_step(parts, columns.step),
        home_of(sources),
        vectors,
        folders_of(sources),
        units.declared,
        declared.labels_source == "data",
        floor,
        declared.return_range,
        declared.model is not None,
        declared.missing,
        groups,
        _weights(declared, columns.weight, unlisted or users.mode in (GROUP, ALL)),
        observed,
    )


def _weights(declared: Declaration, column: str | None, unlike: bool) -> SamplingWeights | None:
    """What is public of sampling weights; None where there are none. unlike: states are vectors, or people come several times."""
    bound = declared.weight_bound
    if column is None and bound is None and declared.weight_mean == 1.0:
        return None
    if column is None or bound is None:
        raise InvalidInput(
            "weight-unsaid",
            "Sampling weights need their column and a public number above which none lies: --weight COLUMN --weight-bound B.",
        )
    if unlike:
        raise InvalidInput(
            "weight-not-here",
            "Sampling weights are of people who come once, by states that are counted. Leave --weight out.",
        )
    bound = validation.positive("weight bound", bound)
    way_out = "Weights have a mean of 1 unless --weight-mean says otherwise."
    return SamplingWeights(bound, validation.between("weight mean", declared.weight_mean, bound * 1e-6, bound, way_out))


def _check_lost(loses: bool, spec: Spec, vectors: bool, users: Users) -> None:
    """Refuse losses to follow-up where they are not counted: of one step, of vectors, of people with several episodes."""
    if loses and (spec.horizon == 1 or vectors or users.mode in (GROUP, ALL)):
        raise InvalidInput(
            "lost-not-here",
            "Losses are counted of people who come once, over several steps, by states that are counted. Leave --lost and "
            "--missing end out.",
        )


def _groups(declared: Declaration, parts: Sequence[DataPart]) -> PublicGroups | None:
    """The public groups that are declared, whose column every part has."""
    groups = PublicGroups.declared(declared.groups)
    for part in parts if groups is not None else ():
        names = part.schema().names
        if groups is not None and groups.column not in names:
            raise InvalidInput(
                "groups-column-missing",
                f"There is no column {groups.column!r} of groups in {part.name}. Found: {', '.join(names)}. Correct --groups.",
            )
    return groups


def _states(declared: Declaration, labels: dict[str, Labelled], edges: dict[str, Cut]) -> Coding:
    """How states are written, with a category for what is missing if that is declared."""
    code: Numbered | Labelled | Cut = coding("states", declared.states, labels, edges)
    return replace(code, missing=True) if declared.missing == BY_CATEGORY else code


def _parts(
    sources: Sequence[DataSource], table: str | None, form: TextForm, cut: Sequence[str]
) -> tuple[DataPart, ...]:
    """The parts of all sources, each with one row a step. cut: the columns that public bin edges cut."""
    parts = [part for source in sources for part in parts_of(source, table, form)]
    return tuple(unpacked(part, number, cut) for number, part in enumerate(parts))


def _vectors(declared: Declaration, part: DataPart, actions: int, coded: tuple[Any, Any]) -> Vectors | None:
    """The state vectors that are declared, if any. part: has all columns. coded: labels and edges of states, which they lack."""
    if declared.missing is not None:
        validation.choice("missing", declared.missing, (BY_CATEGORY, BY_END), MISSING_WAYS)
        if declared.state_columns is not None:
            raise InvalidInput(
                "missing-in-vectors",
                "State vectors have no category for what is missing. Fill entries in, or cut the columns at public --edges.",
            )
    if declared.state_columns is None:
        if declared.norm is not None or declared.intercept:
            raise InvalidInput(
                "vector-flags-without-columns",
                "--norm and --intercept are about states that are vectors. Name their --state-columns.",
            )
        return None
    labels, edges = coded
    numbered = {"states": declared.states, **declared.tables, "labels of states": labels, "edges of states": edges}
    _only_vectors(numbered)
    names = part.schema().names
    return Vectors.declared(declared.state_columns, names, actions, declared.norm, declared.intercept, declared.clip)


def _observations(
    declared: Declaration, part: DataPart, coded: tuple[Labelled | None, Cut | None]
) -> Observations | None:
    """The observations that described features are made of, if any are declared."""
    if declared.features is None:
        return None
    if declared.state_columns is not None:
        raise InvalidInput(
            "features-and-vectors",
            "Features are made of the columns that their description names. Leave --state-columns out.",
        )
    if declared.missing is not None:
        raise InvalidInput(
            "missing-in-features",
            "Observations have no category for what is missing. Fill entries in, or give a category such a value.",
        )
    if declared.return_range is not None or declared.groups is not None:
        raise InvalidInput(
            "features-know-no-groups",
            "Fits with described features clip no returns and judge no groups. Leave --return-range and --groups out.",
        )
    if declared.model not in (None, STATIONARY):
        raise InvalidInput(
            "features-pool-steps",
            "Fits with described features have one model for all steps, and a policy that depends on the step. Leave --model out.",
        )
    labels, edges = coded
    numbered = {"states": declared.states, **declared.tables, "labels of states": labels, "edges of states": edges}
    _only_vectors({name: value is not None or None for name, value in numbered.items()})
    return Observations.declared(declared.features, part.schema().names)


def _actions(features: DescribedFeatures, declared: int | None, labels: Labelled | None) -> Labelled:
    """The labels of actions, which are those of the description."""
    named = features.actions_named
    if (declared is not None and declared != len(named)) or (labels is not None and labels.labels != named):
        raise InvalidInput(
            "features-of-other-actions",
            f"The features are about the actions {', '.join(named)}. Declare no others.",
        )
    return Labelled(named)


def _knowledge(declared: Declaration, spec: Spec, units: RewardUnits) -> Knowledge:
    """The public tables as knowledge of the problem, with rewards in [0, 1] and the end state that episodes may need."""
    tables = declared.tables
    if tables["rewards"] is not None:
        tables["rewards"] = units.scaled(tables["rewards"])
    returns = units.returns(declared.return_range, spec.horizon)
    return Knowledge.declared(
        spec, **tables, ends=not declared.fixed_length, end_reward=units.end_reward, returns=returns
    )


def _floor(column: str | None, floor: float | None, spec: Spec, unlike: bool) -> float | None:
    """The public number below which no propensity lies; None where none are given. unlike: rewards are known, states are
    vectors, or people come several times.
    """
    if column is None and floor is None:
        return None
    if column is None:
        raise InvalidInput(
            "floor-without-propensity",
            "A floor is about logged propensities. Name their column (--propensity COLUMN), or leave it out.",
        )
    if unlike:
        raise InvalidInput(
            "propensity-not-here",
            "Propensities weigh logged rewards of people who come once, by states that are counted. Leave --propensity out.",
        )
    if floor is None:
        raise InvalidInput(
            "propensity-floor-unsaid",
            "Below which number no propensity lies must be said, and not read off the data: --propensity-floor F.",
        )
    return validation.between("propensity floor", floor, 1e-6, 1.0)


def _only_vectors(options: Mapping[str, Json]) -> None:
    """Refuse what speaks of numbered states beside state columns."""
    wrong = [name for name, value in options.items() if value is not None]
    if wrong:
        raise InvalidInput(
            "vectors-take-no-numbers",
            f"States that are vectors have no numbers, so {wrong[0]} cannot be given. Leave it out.",
        )


def codings(labels: LabelsDeclared, edges: EdgesDeclared) -> dict[str, int]:
    """How many states and actions lists of labels and bin edges speak of, as far as they do."""
    books, cuts = label_book(labels), bin_edges(edges)
    return {kind: code.size for kind, code in books.items()} | {kind: code.size for kind, code in cuts.items()}
