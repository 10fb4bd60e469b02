"""How a text table is written (CSV and its relatives): seen in its first lines, or declared.

What is looked at is the form, never the meaning: marks that begin a file, what separates the columns, and whether numbers
have a point or a comma. What cannot be seen is asked for by name, with the option that tells it.
"""

from __future__ import annotations

import codecs
import csv as plain_csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import FormatError, InvalidInput
from .sources import readable

HEAD = 1 << 16
"""How many bytes are looked at to see how a file is written."""

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
OTHERS = (
    (b"PAR1", "is a Parquet file. Let its name end in .parquet"),
    (b"ARROW1", "is an Arrow file. Let its name end in .arrow"),
    (b"PK\x03\x04", "is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook. Save the sheet as CSV"),
    (b"\x1f\x8b", "is compressed by gzip. Let its name end in .gz"),
    (b"BZh", "is compressed by bzip2. Let its name end in .bz2"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd. Let its name end in .zst"),
    (b"\xfd7zXZ", "is compressed by xz. Unpack it"),
    (b"SQLite format 3", "is an SQLite database. Export the table as CSV"),
    (b"\x89HDF", "is an HDF5 file. Let its name end in .hdf5"),
)
"""How files begin that are no text, and what to do with them."""

COMMA, POINT = re.compile(r"\s*[-+]?\d+,\d+\s*"), re.compile(r"\s*[-+]?\d+\.\d+\s*")
GROUPED = re.compile(r"\s*[-+]?\d{1,3}(([.' ]\d{3})+,\d+|(,\d{3})+\.\d+|([.,]\d{3}){2,})\s*")
DAY = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*")


UNNAMED = "unnamed"
"""How the name begins that is given to a column without one."""


@dataclass(frozen=True)
class TextForm:
    """How a text table is written; what is None, or empty, is seen in its first lines.

    header: the names of its columns, where no row tells them. skip: lines above the header. time_format: of the column that
    rows are ordered by, such as `%d.%m.%Y`.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: tuple[str, ...] = ()
    skip: int = 0
    time_format: str | None = None

    @classmethod
    def declared(
        cls,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        header: str | Sequence[str] | None = None,
        skip_rows: int = 0,
        time_format: str | None = None,
    ) -> TextForm:
        """The form that options declare: `tab` is a delimiter too; header is a list, or names with commas between."""
        names_of_signs = {word: mark for mark, word in DELIMITERS.items()} | {"\\t": "\t"}
        mark = None if delimiter is None else names_of_signs.get(delimiter, delimiter)
        if mark is not None and (len(mark) != 1 or mark in '"\r\n' or mark.isalnum()):
            raise InvalidInput(
                "delimiter-form", f"A delimiter must be one sign, or {', '.join(names_of_signs)}. Got {delimiter!r}."
            )
        if decimal not in (None, ".", ","):
            raise InvalidInput("decimal-form", f"The decimal sign must be a point or a comma. Got {decimal!r}.")
        if encoding is not None:
            try:
                codecs.lookup(encoding)
            except LookupError:
                raise InvalidInput(
                    "encoding-unknown", f"The encoding {encoding!r} is not known. Say utf-8, latin-1, cp1252 or utf-16."
                ) from None
        names = [name.strip() for name in (header.split(",") if isinstance(header, str) else header or ())]
        if len(set(names)) < len(names) or not all(names):
            raise InvalidInput("header-form", f"The header must name every column, each once. Got {', '.join(names)}.")
        if isinstance(skip_rows, bool) or not isinstance(skip_rows, int) or skip_rows < 0:
            raise InvalidInput(
                "skip-rows-form", f"Lines to skip must be a whole number of at least 0. Got {skip_rows!r}."
            )
        return cls(mark, encoding, decimal, tuple(names), skip_rows, time_format)


def looked_at(path: str, declared: TextForm) -> tuple[TextForm, tuple[str, ...]]:
    """The form of a file with nothing left open, and the names of its columns."""
    import pyarrow as pa

    with readable(path, "a table of text"), pa.input_stream(path, compression="detect") as file:
        raw = bytes(file.read(HEAD))
    encoding, text = _decoded(path, raw, declared.encoding)
    lines = text.splitlines()
    if len(raw) == HEAD and len(lines) > 1:
        lines.pop()
    skip, mark = declared.skip, declared.delimiter
    if lines[skip:] and re.fullmatch(r"sep=.", lines[skip].strip('\ufeff "')):  # as spreadsheets write it
        mark, skip = mark or lines[skip].strip('\ufeff "')[-1], skip + 1
    lines = lines[skip:]
    if not any(line.strip() for line in lines):
        raise FormatError(
            "text-empty", f"{path} has no rows: it is empty, or all of it is skipped. Check the file and --skip-rows."
        )
    if lines[0].lstrip()[:1] in ("{", "["):
        raise FormatError(
            "text-is-json", f"{path} looks like JSON. Let its name end in .json, or .ndjson if every row is a line."
        )
    if lines[0].lstrip()[:1] == "<":
        raise FormatError("text-is-html", f"{path} looks like a web page. Download the table itself.")
    mark = mark or _delimiter(path, lines, bool(declared.header))
    rows = list(plain_csv.reader(lines[:400], delimiter=mark))
    names = _names(path, rows[0], declared, skip)
    entries = [entry for row in rows[0 if declared.header else 1 :] for entry in row]
    decimal = declared.decimal or _decimal(path, entries)
    return TextForm(mark, encoding, decimal, declared.header, skip, declared.time_format), names


def _decoded(path: str, raw: bytes, declared: str | None) -> tuple[str, str]:
    for mark, verdict in OTHERS:
        if raw.startswith(mark):
            raise FormatError("text-not-a-table", f"{path} {verdict}.")
    for mark, name in MARKS:
        if raw.startswith(mark) and declared is None:
            return name, raw.decode("utf-8-sig" if name == "utf-8" else name, errors="ignore").lstrip("\ufeff")
    if declared is None and len(raw) > 3 and raw.count(0) > len(raw) / 4:
        declared = "utf-16-le" if raw[1] == 0 else "utf-16-be"
    if declared is None and 0 in raw:
        raise FormatError(
            "text-null-bytes", f"{path} holds null bytes, which no table of text does. Check what kind of file it is."
        )
    try:
        decoder = codecs.getincrementaldecoder(declared or "utf-8")()
        return declared or "utf-8", decoder.decode(raw, final=len(raw) < HEAD).lstrip("\ufeff")
    except UnicodeDecodeError as error:
        if declared is not None:
            raise FormatError(
                "text-encoding-wrong", f"{path} is not written in {declared}. Say another --encoding, or leave it out."
            ) from error
        raise not_utf8(path) from error


def not_utf8(path: str) -> FormatError:
    """The refusal of a text that is written in another encoding."""
    return FormatError(
        "text-not-utf8",
        f"{path} is not written in UTF-8. Say how it is: --encoding cp1252 (Windows) or latin-1, as most such files are.",
    )


def _delimiter(path: str, lines: list[str], headless: bool) -> str:
    """The delimiter of columns: the sign that is in the first line most often, and as often in the next ones."""
    shown = [line for line in lines[:20] if line.strip()]

    def widths(mark: str) -> list[int]:
        return [len(row) for row in plain_csv.reader(shown, delimiter=mark)]

    counts = [(mark, widths(mark)) for mark in ",;\t|"]
    steady = [(wide[0], mark) for mark, wide in counts if wide and wide[0] > 1 and len(set(wide)) == 1]
    if steady:
        return max(steady)[1]
    begins = [(wide[0], mark) for mark, wide in counts if wide and wide[0] > 1]
    later = [wide for _, wide in counts if len(wide) > 2 and wide[-1] > 1 and wide[-1] == wide[-2]]
    if later and not begins and not headless:
        above = next(index for index, count in enumerate(later[0]) if count == later[0][-1])
        raise FormatError(
            "text-preamble",
            f"{path} begins with {above} line{'' if above == 1 else 's'} that {'is' if above == 1 else 'are'} no part of "
            f"its table. Say --skip-rows {above}.",
        )
    if begins:
        return max(begins)[1]
    signs = "comma, semicolon, tab or bar"
    way_out = "Say what does: --delimiter SIGN" + (", such as --delimiter space." if " " in shown[0].strip() else ".")
    raise FormatError("text-no-delimiter", f"Nothing parts the columns of {path} that is known: no {signs}. {way_out}")


def _names(path: str, first: list[str], declared: TextForm, skip: int) -> tuple[str, ...]:
    if declared.header:
        if len(declared.header) != len(first):
            raise FormatError(
                "header-length",
                f"--header names {len(declared.header)} columns, but {path} has {len(first)}. Name every one, in order.",
            )
        return declared.header
    names = [name.strip() for name in first]
    if any(re.fullmatch(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", name) for name in names):
        raise FormatError(
            "text-no-header",
            f"{path} has no header: there are numbers in its first row. Name its {len(names)} columns: "
            "--header user,step,state,action,reward.",
        )
    unnamed = 0
    for index, name in enumerate(names):
        if not name:
            unnamed += 1
            names[index] = f"{UNNAMED} {unnamed}"
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FormatError(
            "text-column-twice",
            f"{path} has two columns called {twice[0]!r}. Name all {len(names)} anew: --header NAMES --skip-rows {skip + 1}.",
        )
    return tuple(names)


def _decimal(path: str, entries: list[str]) -> str:
    commas, points = (any(mark.fullmatch(entry) for entry in entries) for mark in (COMMA, POINT))
    if commas and points:
        raise FormatError(
            "text-decimal-mixed",
            f"Some numbers of {path} have a decimal comma and some a point. Say which is meant: --decimal ',' or '.'.",
        )
    return "," if commas else "."
