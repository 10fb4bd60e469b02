"""Data is known again by its content: a file that was renamed, copied or linked has the ledger it had before.

Beside data lie its ledger, or a note that says where that is, and a key: 32 random bytes that only their owner may read (mode
0600). Ledger and note keep a fingerprint of every file that was charged: a hash of its content under that key. So a ledger may be
shown to others: without the key a fingerprint is a random number, and an attacker cannot try what the data might be. With the key,
a fingerprint tells whether the data is what a reader guesses; any process that may read the key could read the data. Neither
leaves the folder: no certificate, report, message or output holds them.

Of a file larger than `BLOCKS` blocks its size and that many blocks are hashed, evenly spread, from first to last. Two files that
agree in them but not elsewhere are taken for one, which is safe: they are charged together.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from ...errors import InvalidInput
from ...privacy.ledger import fingerprints_in

SUFFIX, KEY = ".ledger.json", ".confide.key"
BLOCK, BLOCKS = 1 << 16, 16


def digests_of(files: Iterable[str | Path]) -> dict[Path, bytes]:
    """A digest of the content of every file that holds something, by its real path. It stays in memory."""
    digests: dict[Path, bytes] = {}
    for path in dict.fromkeys(Path(os.path.realpath(file)) for file in files):
        if path.is_file() and (seen := path.stat()).st_size:
            digests[path] = _digest(path, seen.st_size, (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns))
    return digests


@lru_cache(maxsize=1024)
def _digest(path: Path, size: int, identity: tuple[int, ...]) -> bytes:
    """The digest of a file's content; a file that did not change since is not read again."""
    content = hashlib.sha256(size.to_bytes(8, "little"))
    last = max(size - BLOCK, 0)
    places = range(0, size, BLOCK) if size <= BLOCK * BLOCKS else [last * n // (BLOCKS - 1) for n in range(BLOCKS)]
    with open(path, "rb") as file:
        for place in places:
            file.seek(place)
            content.update(file.read(BLOCK))
    return content.digest()


def fingerprint(key: bytes, digest: bytes) -> str:
    """What a ledger keeps of a content: 128 bits that only the key can make."""
    return hashlib.blake2b(digest, key=key, digest_size=16).hexdigest()


def key_in(folder: Path, made: bool = False) -> bytes | None:
    """The key of a folder, made if there is none and it is wanted; None without one, or where it cannot be read."""
    path = folder / KEY
    if made and not path.exists():
        draft = folder / f"{KEY}.{secrets.token_hex(8)}"
        try:
            with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(os.urandom(32))
                os.fsync(file.fileno())
            os.link(draft, path)  # whole, or not at all; refused if another was quicker
        except OSError:
            pass
        finally:
            draft.unlink(missing_ok=True)
    try:
        key = path.read_bytes()
    except OSError:
        return None
    if len(key) != 32:
        raise InvalidInput(
            "data-key-damaged", f"{path} is not the key by which data is known again. Bring it back from a copy."
        )
    return key


def alike(digests: Mapping[Path, bytes]) -> Iterator[tuple[Path, Path]]:
    """Every file whose content was charged before, with the data that it was charged as.

    Looked for in the folder of the file, in the one above, and in those right below.
    """
    known: dict[Path, tuple[bytes, dict[str, Path]] | None] = {}
    for path, digest in digests.items():
        for folder in _near(path.parent):
            if folder not in known:
                known[folder] = _known_in(folder)
            found = known[folder]
            data = None if found is None else found[1].get(fingerprint(found[0], digest))
            if data is not None and data != path:
                yield path, data


def _near(folder: Path) -> Iterator[Path]:
    yield folder
    yield folder.parent
    with suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))


def _known_in(folder: Path) -> tuple[bytes, dict[str, Path]] | None:
    """The key of a folder, and what was charged by fingerprint; None if there is no key that can be read."""
    key = key_in(folder)
    if key is None:
        return None
    notes = sorted(folder.glob("*" + SUFFIX))
    data = {note: note.with_name(note.name.removesuffix(SUFFIX)) for note in notes}
    return key, {print_of: data[note] for note in notes for print_of in fingerprints_in(note)}


@contextmanager
def one_at_a_time(homes: Sequence[Path]) -> Iterator[None]:
    """Hold the lock under which data is charged: the root of every file system that it lies on.

    So two fits that read the same data, by whatever names and with whatever ledgers, take turns. A root can be opened by all
    users, and nothing is written. Where a file system has no such locks (some that are shared by networks), this machine's root
    stands in.
    """
    roots = sorted({_mounted(Path(os.path.realpath(home))) for home in homes})
    with ExitStack() as held:
        for root in roots:
            try:
                held.callback(os.close, _locked(root))
            except OSError:
                if root != Path("/"):
                    held.callback(os.close, _locked(Path("/")))
        yield


def _mounted(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if os.path.ismount(place))


def _locked(folder: Path) -> int:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle
