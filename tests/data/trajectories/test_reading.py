"""Reading logs: every source gives the same counts; columns are found or named; bad files are refused in a sentence."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from confide.data.statistics.counting import DatasetCounts, count_part, total
from confide.data.trajectories import Dataset, Declaration, read
from confide.errors import ConfideError, InvalidInput
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, Episode, columns, episodes, write
from tests.refusals import refused

SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}
LOG = episodes(60, seed=11)


def counted(data: Dataset) -> DatasetCounts:
    question = CountQuestion(data.knowledge.spec, ("visits", "rewards", "transitions"))
    return total(data, [count_part(data, question, number, 5) for number in range(len(data.parts))]).checked()


def same(data: Dataset, people: int = 60) -> bool:
    result, expected = counted(data), counted(read(columns(LOG), **SIZES))
    return result.users == people and np.array_equal(result.cells, expected.cells)


class ForeignTable:
    """What polars and pandas offer: a table that only speaks Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture(params=["parquet", "csv", "arrow", "stream", "feather", "dict", "frame", "query", "database"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    table, kind = pa.table(columns(LOG)), request.param
    path = tmp_path / f"log.{kind if kind != 'stream' else 'arrow'}"
    match kind:
        case "parquet":
            parquet.write_table(table, path, row_group_size=17)
        case "csv":
            csv.write_csv(table, path)
        case "arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table, max_chunksize=17)
        case "stream":
            with pa.ipc.new_stream(path, table.schema) as file:
                file.write_table(table, max_chunksize=17)
        case "feather":
            feather.write_feather(table, str(path))
        case "dict":
            return {"source": {name: np.array(values) for name, values in columns(LOG).items()}}
        case "frame":
            return {"source": ForeignTable(table)}
        case "query":
            parquet.write_table(table, tmp_path / "log.parquet")
            return {"source": f"duckdb:SELECT * FROM '{tmp_path}/log.parquet' ORDER BY user, step;"}
        case "database":
            import duckdb

            with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
                connection.register("given", table)
                connection.execute("CREATE TABLE visits AS SELECT * FROM given")
            return {"source": str(tmp_path / "clinic.duckdb"), "table": "visits"}
    return {"source": str(path)}


def test_every_source_gives_the_same_counts(source: dict[str, Any]) -> None:
    assert same(read(source.pop("source"), **SIZES, **source))


def test_many_files_at_once(tmp_path: Path) -> None:
    for number in range(3):
        table = columns(LOG[number::3], ids=list(range(number, 60, 3)))
        parquet.write_table(pa.table(table), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("not data")
    files = sorted(str(path) for path in tmp_path.glob("*.parquet"))
    for sources in ([str(tmp_path)], [f"{tmp_path}/part-*.parquet"], files, [files[0], f"{tmp_path}/part-[12]*"]):
        data = read(*sources, **SIZES)
        assert len(data.parts) == 3
        assert same(data)
    assert read(str(tmp_path), **SIZES).home == tmp_path
    assert read(*files, **SIZES).home is None


def test_arrays_with_a_row_for_each_person() -> None:
    full = episodes(40, seed=2, full=True)
    states = np.array([one.states for one in full])
    arrays = {
        "states": states,
        "actions": np.array([one.actions for one in full]),
        "rewards": np.array([one.rewards for one in full], dtype=float),
    }
    expected = counted(read(columns(full), **SIZES))
    assert np.array_equal(counted(read(arrays, **SIZES)).cells, expected.cells)
    apart = {**arrays, "states": states[:, :-1], "next_states": states[:, 1:]}
    assert np.array_equal(counted(read(apart, **SIZES)).cells, expected.cells)
    with refused("array-shapes", match=r"\(40, 4\).*\(40, 3\)"):
        read({**arrays, "rewards": arrays["rewards"][:, 1:]}, **SIZES)
    with refused("array-unknown"):
        read({**arrays, "dose": states}, **SIZES)


def test_minari_needs_no_environment() -> None:
    class MinariEpisode:
        """As much of an episode as Minari's own has."""

        def __init__(self, number: int, one: Episode) -> None:
            self.id, self.actions, self.rewards = number, np.array(one.actions), np.array(one.rewards)
            self.observations = np.array(one.states)

    class Data:
        spec = None

        def iterate_episodes(self) -> list[MinariEpisode]:
            return [MinariEpisode(number, one) for number, one in enumerate(LOG)]

    assert same(read(Data(), **SIZES))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_minari_data_set_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    gymnasium = pytest.importorskip("gymnasium")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffers = [
        minari.data_collector.EpisodeBuffer(
            id=number,
            observations=np.array(one.states),
            actions=np.array(one.actions),
            rewards=np.array(one.rewards, dtype=float),
            terminations=np.zeros(len(one.actions), dtype=bool),
            truncations=np.arange(len(one.actions)) == len(one.actions) - 1,
            infos={},
        )
        for number, one in enumerate(LOG)
    ]
    minari.create_dataset_from_buffers(
        "clinic/visits-v0",
        buffers,
        observation_space=gymnasium.spaces.Discrete(STATES),
        action_space=gymnasium.spaces.Discrete(ACTIONS),
        algorithm_name="doctors",
        code_permalink="none",
        author="nobody",
        author_email="none",
        description="a test",
        requirements=[],
        data_format="arrow",
    )
    assert same(read("minari:clinic/visits-v0", **SIZES))
    with refused("minari-set-missing", match="clinic/none-v0"):
        read("minari:clinic/none-v0", **SIZES)


def test_rows_in_any_order_can_be_sorted(tmp_path: Path) -> None:
    table = pa.table(columns(LOG))
    order = np.random.default_rng(0).permutation(table.num_rows)
    shuffled = table.take(order)
    parquet.write_table(shuffled, tmp_path / "log.parquet")
    csv.write_csv(shuffled, tmp_path / "log.csv")
    with pytest.raises(InvalidInput, match=r"--sort"):
        counted(read(shuffled, **SIZES))
    for given in (shuffled, tmp_path / "log.parquet", tmp_path / "log.csv"):
        assert same(read(given, **SIZES, sort=True))


@pytest.mark.parametrize(
    "names", [("patient_id", "t", "s", "a", "r", "s_next"), ("Episode", "h", "Obs", "ACT", "rew", "sp")]
)
def test_columns_are_found_by_their_usual_names(names: tuple[str, ...]) -> None:
    renamed = dict(zip(names, columns(LOG).values(), strict=True))
    assert same(read(renamed, **SIZES))


def test_columns_can_be_told() -> None:
    odd = dict(zip(("wer", "wann", "wo", "was", "wieviel", "wohin"), columns(LOG).values(), strict=True))
    given = "user=wer, step=wann, state=wo, action=was, reward=wieviel, next_state=wohin"
    assert same(read(odd, **SIZES, columns=given))
    with refused("column-unsaid"):
        read(odd, **SIZES)
    with refused("column-missing"):
        read(odd, **SIZES, columns="state=woher")
    with refused("unknown-name: column role"):
        read(odd, **SIZES, columns="stat=wo")
    with pytest.raises(InvalidInput, match=r"role=name"):
        read(odd, **SIZES, columns="wo")
    with refused("column-ambiguous"):
        read({**columns(LOG), "patient": columns(LOG)["user"]}, **SIZES)


def test_a_column_can_be_done_without() -> None:
    table = columns(LOG)
    assert read(table, **SIZES, columns="next_state=").columns.next_state == ()
    assert read(table, **SIZES, rewards=np.zeros((STATES, ACTIONS))).columns.reward is None
    without_steps = {name: values for name, values in table.items() if name != "step"}
    assert same(read(without_steps, **SIZES))


def test_steps_may_begin_with_one() -> None:
    assert same(read(columns(LOG, first=1), **SIZES))
    with refused("steps-not-from-first", match="Row 1"):
        read(columns(LOG, first=2), **SIZES)


def test_users_with_several_episodes() -> None:
    assert str(read(columns(LOG), **SIZES, users="group:3").users) == "group:3"
    for text in ("group", "group:1", "group:x", "limit:2", "many"):
        with pytest.raises(InvalidInput, match=r"group:3|whole number"):
            read(columns(LOG), **SIZES, users=text)
    without = {name: values for name, values in columns(LOG).items() if name != "step"}
    with refused("step-column-needed"):
        read(without, **SIZES, users="limit")


def test_the_unit_is_said() -> None:
    assert read(columns(LOG), **SIZES).unit == "one person's whole trajectory"
    assert read(columns(LOG), **SIZES, users="group:3").unit == "one person's up to 3 trajectories"
    renamed = {("episode" if name == "user" else name): values for name, values in columns(LOG).items()}
    assert read(renamed, **SIZES).unit == "one episode (no column tells people apart)"


def test_a_repr_shows_shapes_only() -> None:
    assert repr(read(columns(LOG), **SIZES)) == "Dataset(parts=1, states=3, actions=2, horizon=4)"


def bad_files(folder: Path) -> dict[str, Path]:
    good = write(folder / "good.parquet", LOG)
    whole = good.read_bytes()
    options = {name: folder / f"{name}.parquet" for name in ("truncated", "empty", "garbage")}
    options["truncated"].write_bytes(whole[: len(whole) // 2])
    options["empty"].write_bytes(b"")
    options["garbage"].write_bytes(b"PAR1" + b"secret" * 100)
    for name, text in (("empty-csv", ""), ("words", "user,step,state,action,reward\nsecret,zero,one,two,three\n")):
        options[name] = folder / f"{name}.csv"
        options[name].write_text(text)
    options["arrow"] = folder / "cut.arrow"
    feather.write_feather(pa.table(columns(LOG)), str(options["arrow"]), compression="uncompressed")
    options["arrow"].write_bytes(options["arrow"].read_bytes()[:-200])
    return options


@pytest.mark.parametrize("name", ["truncated", "empty", "garbage", "empty-csv", "words", "arrow"])
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str) -> None:
    path = bad_files(tmp_path)[name]
    with pytest.raises(ConfideError) as caught:
        counted(read(path, **SIZES))
    message = str(caught.value)
    assert path.name in message and "\n" not in message and "secret" not in message and "zero" not in message


def test_a_csv_that_spoils_half_way_through(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    good = "".join(f"{user},0,1,1,1,1\n" for user in range(100_000))  # longer than the block that types are read off
    path.write_text(f"user,step,state,action,reward,next_state\n{good}x,0,secret,1,1,1\n")
    with refused("text-column-not-numbers") as caught:
        counted(read(path, **SIZES))
    assert "secret" not in str(caught.value)


def test_parts_must_be_alike(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", LOG)
    write(tmp_path / "b.parquet", LOG, reward=None)
    with refused("part-column-missing"):
        read(tmp_path, **SIZES)
    write(tmp_path / "b.parquet", LOG, state=[str(state) for state in columns(LOG)["state"]])
    with refused("part-column-type"):
        read(tmp_path, **SIZES)


def test_places_where_nothing_is(tmp_path: Path) -> None:
    for source, says in (
        (tmp_path / "none.parquet", "file-missing"),
        (tmp_path, "folder-without-data"),
        (f"{tmp_path}/*.csv", "folder-without-data"),
        (tmp_path / "none.duckdb", "table-unsaid"),
        ("duckdb:SELECT * FROM nowhere", "query-failed"),
        ("duckdb:SELECT FROM WHERE", "query-failed"),
        (17, "source-unreadable"),
        (tmp_path / "log.nothing", "file-missing"),
    ):
        with refused(says):
            read(source, **SIZES)
    (tmp_path / "log.odd").touch()
    with refused("file-suffix"):
        read(tmp_path / "log.odd", **SIZES)
    with pytest.raises(InvalidInput, match=r"nothing to read"):
        read(**SIZES)


def test_a_query_that_fails_while_it_runs_shows_nothing(tmp_path: Path) -> None:
    query = "duckdb:SELECT 'secret-1' AS user, 0 AS step, CAST('secret' AS INT) AS state, 0 AS action, 0 AS reward"
    with pytest.raises(ConfideError) as caught:
        counted(read(query, **SIZES))
    assert "secret" not in str(caught.value)


def test_text_needs_a_label_book() -> None:
    options = {**columns(LOG), "state": [f"state {state}" for state in columns(LOG)["state"]]}
    with refused("column-not-numbers"):
        read(options, **SIZES)


def test_rewards_pay_nothing_after_the_end() -> None:
    assert read(columns(LOG), **SIZES, reward_range=(1, 2)).reward_range == (0, 2)
    assert read(columns(LOG), **SIZES, reward_range=(1, 2), fixed_length=True).reward_range == (1, 2)
    assert read(columns(LOG), **SIZES, reward_range=(-1, 3)).knowledge.end_reward == 0.25
    with pytest.raises(InvalidInput, match=r"the lower first"):
        read(columns(LOG), **SIZES, reward_range=(1, 0))


def test_sizes_must_be_said() -> None:
    with refused("size-undeclared"):
        read(columns(LOG), actions=2, horizon=4)


def test_what_is_declared_has_known_names_which_notebooks_show() -> None:
    with refused("unknown-name: declaration"):
        read(columns(LOG), sates=3, actions=2, horizon=4)
    with refused("horizon-undeclared"):
        read(columns(LOG), states=3, actions=2)
    shown = list(inspect.signature(read).parameters)
    assert shown == ["sources", *(each.name for each in fields(Declaration))] and "propensity_floor" in shown


def test_declaration_is_plain() -> None:
    document = read(columns(LOG), **SIZES).describe()
    assert json.loads(json.dumps(document))["columns"]["state"] == ["state"]
    assert document["states"] == STATES


def test_a_file_without_a_header_has_its_first_row_quoted_nowhere(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("4711,0,17,23,0.25\n4711,1,17,23,0.5\n")
    with refused("text-no-header", match="5 columns") as caught:
        read(tmp_path / "log.csv", **SIZES)
    assert "4711" not in str(caught.value) and "0.25" not in str(caught.value)
