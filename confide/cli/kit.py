"""What operators do with a service's folder: backups, pauses, tokens, and its public documents as files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import FormatError, InvalidInput
from ..service.collector import schema as collector_schema
from ..service.collector.store import CollectorStore
from ..service.contract import keys
from ..service.contract.closings import SignedClosing
from ..service.contract.contract import Contract
from ..service.contract.files import write_whole
from ..service.contract.folder import Folder
from ..service.contract.heads import SignedHead
from ..service.http import databases
from ..service.http.serving import exclusive_lock
from ..service.intermediary import schema as intermediary_schema
from ..service.intermediary.folder import Keys, RoleFolder, key_file
from ..service.intermediary.store import BatchStore
from ..validation import Json

ROLES = ("curator", "shuffler")
TRIES = 5
"""How often two databases are copied until their copies are of one moment."""
DATABASE = "database.db"
"""The copy of a Postgres database in a backup."""
ISSUER, ISSUER_DATABASE = "issuer", "issuer.db"
"""The issuer's folder in a backup, and the file that knows who has a token."""
TABLES = (collector_schema.TABLES, intermediary_schema.TABLES)
_KEPT = ("contract.json", "key", "token", *(f"{role}.{what}" for role in ROLES for what in ("key", "token")))


def backup(folder: Folder, target: Path, database: str | None = None) -> dict[str, Json]:
    """Copy a service's folder and its database to a new folder, while it is served. What was published last is written from the
    copied database, so that the two belong together."""
    contract = folder.contract()
    if target.exists():
        raise InvalidInput("backup-exists", f"{target} exists already. Name a new folder for every backup.")
    with _appearing(target) as place:
        for name in _KEPT:
            if (folder.path / name).is_file():
                write_whole(place / name, (folder.path / name).read_bytes())
        for _ in range(TRIES):
            for name in ("collector.db", *(f"{role}.db" for role in ROLES)):
                if (folder.path / name).is_file():
                    (place / name).unlink(missing_ok=True)
                    databases.copy_file(folder.path / name, place / name)
            if _agree(Folder(place), contract):
                break
        else:
            raise InvalidInput(
                "backup-between-rounds", "Rounds follow each other too quickly to copy both databases. Try again."
            )
        copied = None
        if database is not None:
            copied = f"{databases.SQLITE}{(place / DATABASE).resolve()}"
            source, to = databases.connect(database), databases.connect(copied)
            try:
                databases.copy_tables(source, to, TABLES)
            finally:
                source.dispose()
                to.dispose()
            for beside in place.glob(f"{DATABASE}-*"):
                beside.unlink()
        found = _write_heads(Folder(place), contract, copied)
        issued = _copy_issuer(folder.issuer_path, place / ISSUER)
    return {"backup": str(target), "contract": contract.pin, **found, "issuer": issued}


def _copy_issuer(source: Path, target: Path) -> bool:
    """Copy the folder of the issuer that was made beside a service, if it is still there; whether it is. Without its key no one
    gets a token any more; its database knows who has one."""
    if not source.is_dir():
        return False
    with _appearing(target) as place:
        for path in source.iterdir():
            if path.name == ISSUER_DATABASE:
                databases.copy_file(path, place / path.name)
            elif path.is_file() and not path.name.startswith((ISSUER_DATABASE, "lock")):
                write_whole(place / path.name, path.read_bytes())
    return True


def _agree(folder: Folder, contract: Contract) -> bool:
    """Whether the copies of a collector's and an intermediary's file are of one moment: each has what the other has stored of it.
    They are copied one after the other, and a round may turn in between; then either would refuse the other."""
    about = contract.intermediary
    if about is None or not folder.counts_here or not (folder.path / f"{about.role}.db").is_file():
        return True
    store = CollectorStore(folder.database, contract)
    batches = BatchStore(RoleFolder(folder.path, about.role).database, contract)
    try:
        if not (store.exists() and batches.exists()):
            return True
        head, closing = batches.announced(), store.closing()
        known = head is None or ((own := store.head(head.head.round)) is not None and own.digest == head.digest)
        return known and (closing is None or batches.closing(closing.closing.number) is not None)
    finally:
        store.close()
        batches.close_connections()


def _write_heads(folder: Folder, contract: Contract, database: str | None) -> dict[str, int]:
    """Write what was published last, as the databases of a folder know it; the rounds and closings."""
    found = {"round": 0, "closing": 0}
    store = CollectorStore(database or folder.database, contract)
    if store.exists():
        number = store.published()
        signed = store.head(number)
        if signed is not None:
            write_whole(folder.head_file, signed.to_json())
            found["round"] = number
    store.close()
    for role in ROLES:
        if contract.intermediary is None or contract.intermediary.role != role:
            continue
        place = RoleFolder(folder.path, role)
        batches = BatchStore(database or place.database, contract)
        if batches.exists():
            number = batches.received()
            row = batches.closing(number)
            if row is not None:
                write_whole(place.head_file, SignedClosing(bytes(row.data), bytes(row.signature)).to_json())
                found["closing"] = number
        batches.close_connections()
    return found


def restore(copy: Folder, folder: Folder, database: str | None = None, seen: str | None = None) -> dict[str, Json]:
    """Put a backup in the place of a service's folder, if nothing that was published is missing in it.

    seen: the address of a witness, or its folder, or the address of a collector that still serves, whose current head must not be
    ahead. What was in the folder is kept beside it.
    """
    from ..lab.staging.checking import check_folder

    contract = copy.contract()
    copied = copy.path / DATABASE
    if copied.exists() != (database is not None):
        word = (
            "is of a Postgres: give an empty one with --database"
            if database is None
            else "is of a folder: leave --database out"
        )
        raise InvalidInput("backup-of-other-database", f"This backup {word}.")
    source = f"{databases.SQLITE}{copied.resolve()}" if copied.exists() else None
    check_folder(copy.path, source)
    held = _head(copy, contract)
    number = 0 if held is None else held.head.round
    with contextlib.ExitStack() as locked:
        if folder.path.exists():
            for name in ("lock", *(f"{role}.lock" for role in ROLES)):
                if (folder.path / name).exists():  # any process that serves, or ever did, has made it
                    locked.enter_context(contextlib.closing(exclusive_lock(folder.path, name)))
            _check_not_behind(number, _head(folder, contract), str(folder.path))
        if seen is not None:
            _check_not_behind(number, _shown(seen, contract), seen)
        if database is not None:
            before, after = databases.connect(source or ""), databases.connect(database)
            try:
                databases.copy_tables(before, after, TABLES)
            finally:
                before.dispose()
                after.dispose()
        kept = _replace(copy, folder)
        # An issuer that is still there knows of more tokens than its copy: it stays.
        issuer = not folder.issuer_path.exists() and _copy_issuer(copy.path / ISSUER, folder.issuer_path)
    return {"folder": str(folder.path), "round": number, "compared": seen or kept, "kept": kept, "issuer": issuer}


def _head(folder: Folder, contract: Contract) -> SignedHead | None:
    try:
        return SignedHead.from_json(folder.head_file.read_bytes(), contract.key)
    except FileNotFoundError:
        return None


def _shown(seen: str, contract: Contract) -> SignedHead:
    """The last head that a witness or a collector shows: at its address, or in its folder."""
    for place in (Path(seen), Path(seen, contract.digest.hex())):
        current = place / "v1" / "rounds" / "current"
        if current.is_file():
            return SignedHead.from_json(current.read_bytes(), contract.key)
    from ..service.device.chain import fetched
    from ..service.device.transport import Transport

    return SignedHead.from_json(fetched(Transport(seen), "/v1/rounds/current"), contract.key)


def _check_not_behind(number: int, other: SignedHead | None, where: str) -> None:
    if other is not None and other.head.round > number:
        raise FormatError(
            "backup-behind",
            f"Round {other.head.round} was published ({where}), but the backup ends with round {number}: that cannot be "
            "taken back. Restore a newer backup, or begin a new contract.",
        )


def _replace(copy: Folder, folder: Folder) -> str | None:
    """Put a copy of a backup where a folder was; where that is kept."""
    kept = None
    beside = folder.path.with_name(f".{folder.path.name}.restored")
    shutil.rmtree(beside, ignore_errors=True)
    with _appearing(beside) as place:
        for path in copy.path.iterdir():
            if path.is_file() and path.name != DATABASE:
                write_whole(place / path.name, path.read_bytes())
    if folder.path.exists():
        number = 1
        while (aside := folder.path.with_name(f"{folder.path.name}.replaced{number}")).exists():
            number += 1
        os.rename(folder.path, aside)
        kept = str(aside)
    os.rename(beside, folder.path)
    return kept


@contextlib.contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A new folder, its owner's only, that is there under its name when the block ends, or not at all."""
    place = target.with_name(f".{target.name}.{os.getpid()}.new")
    os.makedirs(place, 0o700)
    try:
        yield place
        os.rename(place, target)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def export(folder: Folder, target: Path, database: str | None = None) -> dict[str, Json]:
    """Write everything public of a service as files, laid out as a collector serves them: any web server shows them then, and
    `service check` verifies them."""
    contract = folder.contract()
    if target.exists():
        raise InvalidInput("export-exists", f"{target} exists already. Name a new folder.")
    store = CollectorStore(database or folder.database, contract)
    try:
        last = store.published() if store.exists() else 0
        if not last:
            raise InvalidInput("nothing-published", "Nothing was published yet, so there is nothing to export.")
        with _appearing(target) as place:
            files = {"contract": contract.data}
            for number in range(1, last + 1):
                signed = store.head(number)
                if signed is None:
                    raise FormatError(
                        "round-missing", f"Round {number} is missing in the database. Restore a whole copy."
                    )
                files |= {f"rounds/{number}": signed.to_json(), "rounds/current": signed.to_json()}
                files |= _documents(store, signed)
            for name, data in files.items():
                path = place / "v1" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, data)
                path.chmod(0o644)
            for made in (place, *place.rglob("*")):
                if made.is_dir():
                    made.chmod(0o755)
    finally:
        store.close()
    return {"export": str(target), "rounds": last, "files": len(files)}


def _documents(store: CollectorStore, signed: SignedHead) -> dict[str, bytes]:
    """The policy, question and release that a head names."""
    head = signed.head
    wanted = {f"policies/{head.policy}": store.policy(head.policy)}
    if head.question is not None:
        wanted[f"questions/{head.question}"] = store.question(head.question)
    if head.release is not None:
        wanted[f"releases/{head.round - 1}"] = store.release(head.round - 1)
    return {name: data for name, data in wanted.items() if data is not None}


def token(folder: Folder, role: str | None) -> str:
    """The operator's token of the collector, or of the shuffler or curator in a folder."""
    if role is None:
        return folder.token()
    return str(_role_keys(folder, role).token)


def rotate(folder: Folder, role: str | None) -> str:
    """Give the collector, or the shuffler or curator, a new operator's token; the old one opens nothing from then on."""
    if role is None:
        folder.key(folder.contract())
        path = folder.token_file
    else:
        _role_keys(folder, role)
        path = folder.path / f"{role}.token"
    write_whole(path, (keys.new_key().hex() + "\n").encode())
    return token(folder, role)


def _role_keys(folder: Folder, role: str) -> Keys:
    place = RoleFolder(folder.path, role)
    about = place.contract().intermediary
    if about is None or not key_file(folder.path, role).exists():
        raise InvalidInput("role-not-here", f"{folder.path} holds no {role}.key. Ask the operator of the {role}.")
    return place.keys(about)
