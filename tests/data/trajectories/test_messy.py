"""Whatever table people have is read right, or refused with the option that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.data.statistics.counting import DatasetCounts, count_part, total
from confide.data.trajectories import Dataset, read
from confide.errors import ConfideError, InvalidInput
from confide.protocol.kinds import CountQuestion
from tests.data.trajectories.messy import MESSY, ROWS, SIZES, Messy, columns, text
from tests.refusals import refused


def counted(data: Dataset) -> DatasetCounts:
    question = CountQuestion(data.knowledge.spec, ("visits", "rewards", "transitions"), "dropped", 4)
    return total(data, [count_part(data, question, number, 5) for number in range(len(data.parts))]).checked()


def written(folder: Path, messy: Messy) -> Path:
    path = folder / messy.name
    if callable(messy.content):
        messy.content(path)
    else:
        path.write_bytes(messy.content.encode() if isinstance(messy.content, str) else messy.content)
    return path


EXPECTED = counted(read(columns(), **SIZES))


def right(data: Dataset) -> bool:
    counts = counted(data)
    return counts.users == 3 and counts.read == len(ROWS) and np.array_equal(counts.cells, EXPECTED.cells)


def test_there_are_sixty() -> None:
    assert len(MESSY) >= 60


@pytest.mark.parametrize("name", MESSY)
def test_read_or_refused_with_the_way_out(name: str, tmp_path: Path) -> None:
    messy = MESSY[name]
    path = written(tmp_path, messy)
    if messy.refused is None:
        assert right(read(path, **messy.words))
        return
    with pytest.raises(ConfideError) as refusal:
        counted(read(path, **messy.words))
    message = str(refusal.value)
    assert messy.refused in message, message
    assert "\n" not in message and message.count("Write it again") == 0
    for entry in ("müde", "krank", "much", "1,000.5"):
        assert entry not in message
    if messy.mended is not None:
        assert right(read(path, **messy.mended))


def test_a_row_without_a_person_is_one_where_there_is_one_step(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("state,action,reward\n0,1,1\n0,1,1\n1,0,0\n")
    data = read(path, states=2, actions=2, horizon=1)
    assert counted(data).users == 3 and "each row is taken for one person" in data.unit
    with refused("column-unsaid"):
        read(path, states=2, actions=2, horizon=2)
    with pytest.raises(InvalidInput, match="--columns user=NAME"):
        read(path, states=2, actions=2, horizon=1, users="limit")
    again = tmp_path / "again.csv"
    again.write_text(path.read_text())
    assert counted(read(path, again, states=2, actions=2, horizon=1)).users == 6


def test_flags_tell_people_with_several_episodes_apart(tmp_path: Path) -> None:
    table: dict[str, Any] = {**columns(), "user": [7, 7, 7, 7, 9, 9], "done": [0, 1] * 3}
    with pytest.raises(InvalidInput, match="one episode"):
        counted(read(table, **SIZES))
    assert counted(read(table, **SIZES, users="group:2")).users == 2


def test_what_terminates_at_the_last_step_ends_and_what_is_cut_goes_on() -> None:
    table: dict[str, Any] = {**columns(), "next_state": [2, 1, 1, 1, 0, 2], "terminated": [0, 1, 0, 0, 0, 1]}
    table["truncated"] = [0, 0, 0, 1, 0, 0]
    data = read(table, **SIZES)
    question = CountQuestion(data.knowledge.spec, ("transitions",))
    counts = total(data, [count_part(data, question, 0, 5)]).checked().cells.reshape(4, 2, 4)
    assert counts[2, 0, 3] == 1 and counts[0, 0, 3] == 1 and counts[1, 1, 1] == 1 and counts.sum() == 6
    without = read({**table, "next_state": [2, 3, 1, 1, 0, 2]}, **SIZES, columns="terminated=,truncated=")
    with refused("row-next-state", match="3 declared"):
        counted(without)


def test_rewards_below_zero_need_no_zero_in_their_range(tmp_path: Path) -> None:
    path = tmp_path / "cliff.csv"
    path.write_text("user,step,state,action,reward\n1,0,0,0,-1\n1,1,1,1,-100\n2,0,0,1,-1\n")
    data = read(path, states=2, actions=2, horizon=2, reward_range=(-100, -1))
    assert data.reward_range == (-100, 0) and data.declared == (-100, -1) and data.knowledge.end_reward == 1.0
    assert counted(data).users == 2
    path.write_text("user,step,state,action,reward\n1,0,0,0,-0.5\n")
    with pytest.raises(InvalidInput, match="from -100 to -1"):
        counted(read(path, states=2, actions=2, horizon=2, reward_range=(-100, -1)))
    clipped = counted(read(path, states=2, actions=2, horizon=2, reward_range=(-100, -1), clip=True))
    assert clipped.clipped == 1


def test_what_polars_and_pandas_have(tmp_path: Path) -> None:
    for name in ("polars", "pandas"):
        library = pytest.importorskip(name)
        assert right(read(library.DataFrame(columns()), **SIZES))
    assert right(read(library.DataFrame(columns()), **SIZES))


def test_rows_as_dictionaries_and_records() -> None:
    names = list(columns())
    assert right(read([dict(zip(names, row, strict=True)) for row in ROWS], **SIZES))
    records = np.array(ROWS, dtype=[(name, "f8" if name == "reward" else "i8") for name in names])
    assert right(read(records, **SIZES))


def test_minari_and_d4rl_on_disk(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        for number in range(3):
            two = ROWS[2 * number : 2 * number + 2]
            group = file.create_group(f"episode_{number}")
            group["observations"] = [row[2] for row in two] + [0]
            group["actions"], group["rewards"] = [row[3] for row in two], [row[4] for row in two]
    assert right(read(tmp_path / "main_data.hdf5", **SIZES))
    with h5py.File(tmp_path / "flat.hdf5", "w") as file:
        file["observations"], file["actions"] = [row[2] for row in ROWS], [row[3] for row in ROWS]
        file["rewards"], file["terminals"] = [row[4] for row in ROWS], [False, True] * 3
    assert right(read(tmp_path / "flat.hdf5", **SIZES, in_order=True))


def test_nothing_is_fetched() -> None:
    with refused("network-source"):
        read("https://example.org/log.csv", **SIZES)


def test_the_way_out_is_an_option_that_exists(tmp_path: Path) -> None:
    from confide.cli.dataset import DECLARED

    known = {one for option in DECLARED for one in option(lambda: None).__click_params__[0].opts}  # type: ignore[attr-defined]
    for name, messy in MESSY.items():
        for word in (messy.refused or "").split():
            assert not word.startswith("--") or word in known, name


def test_a_file_without_quotes_is_not_slowed(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text())
    part = read(path, **SIZES).parts[0]
    assert part.name == str(path) and part.textual
