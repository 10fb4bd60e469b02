"""Compiled code: where it is kept, and copies with their holes filled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from confide import compiled
from confide._version import __version__

folder = compiled.cache_folder.__wrapped__


def hole(x: float) -> float:
    raise NotImplementedError


def template(x: float) -> float:
    return hole(x) + 1.0


def twice(x: float) -> float:
    return 2.0 * x


def square(x: float) -> float:
    return x * x


def test_a_chosen_folder_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert folder() == tmp_path / "chosen"


def test_otherwise_the_users_cache_by_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "confide" / __version__
    assert folder().is_dir()
    assert list(folder().iterdir()) == []  # nothing is left of the attempt to write


def test_otherwise_a_temporary_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    result = folder()
    assert result.is_dir()
    assert result.name.startswith("confide-")
    result.rmdir()


def test_the_hash_follows_whatever_compiled_code_calls_or_reads() -> None:
    files = {
        path.relative_to(compiled.PACKAGE).as_posix() for path in compiled.sources(["confide.learning.learners.tight"])
    }
    assert {
        "learning/learners/tight.py",
        "compiled.py",
        "learning/planning/induction.py",
        "learning/planning/weighing.py",
    } <= files
    assert not {file for file in files if file.startswith(("cli/", "fitting/", "reporting/", "results/"))}
    assert compiled.source_hash("confide.learning.learners.tight") != compiled.source_hash(
        "confide.learning.learners.po"
    )
    assert len(compiled.source_hash("confide.learning.learners.po")) == 16


def test_the_hash_changes_with_a_helper_in_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    room = tmp_path / "confide"
    room.mkdir()
    (room / "caller.py").write_text("from .helper import (\n    help,\n)\nfrom .compiled import compiled\n")
    (room / "helper.py").write_text("from .constants import TWO\n@compiled\ndef help(): ...\n")
    (room / "constants.py").write_text("TWO = 2\n")
    monkeypatch.setattr(compiled, "PACKAGE", room)
    before = compiled.source_hash.__wrapped__("confide.caller")
    (room / "constants.py").write_text("TWO = 3\n")
    assert compiled.source_hash.__wrapped__("confide.caller") != before


def test_what_fills_a_hole_counts_too_however_deep() -> None:
    inner = compiled.specialise(template, "twice", hole=compiled.compiled(twice))
    outer = compiled.specialise(template, "inner", hole=inner)
    assert outer.py_func.made_from == (__name__,)
    assert compiled._made_from(inner) == (__name__,)


def test_code_from_outside_the_package_is_never_kept() -> None:
    assert type(compiled.compiled(square)._cache).__name__ == "NullCache"


class Foreign(NamedTuple):
    """A type whose name only this process can import."""

    first: float
    second: float


def first_of(pair: tuple[float, float]) -> float:
    return pair[0]


def test_our_code_for_types_from_outside_is_never_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(first_of, "__module__", "confide.validation")
    made: Any = compiled.compiled(first_of)
    assert made(Foreign(1.0, 2.0)) == 1.0 and made((Foreign(3.0, 2.0), 1)) == Foreign(3.0, 2.0)
    assert list(tmp_path.rglob("*.nb?")) == []
    assert made((4.0, 2.0)) == 4.0
    assert {path.suffix for path in tmp_path.rglob("*.nb?")} == {".nbi", ".nbc"}
    other = compiled.compiled(square)
    assert not compiled.keepable([made.typeof_pyval(other)]) and compiled.keepable(made.signatures[-1])


def test_holes_are_filled_one_copy_at_a_time() -> None:
    doubling = compiled.specialise(template, "twice", hole=compiled.compiled(twice))
    squaring = compiled.specialise(template, "square", hole=compiled.compiled(square))
    assert doubling(3.0) == 7.0
    assert squaring(3.0) == 10.0
    assert doubling.__name__ == "template_twice"
    with pytest.raises(NotImplementedError):
        template(3.0)


def test_what_is_no_plain_function_has_no_holes() -> None:
    with pytest.raises(TypeError, match="plain function"):
        compiled.specialise(len, "length")
