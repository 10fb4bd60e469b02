"""Closes rounds: when one is full, a child process learns from it, and the next policy is committed, then published.

Order: commit, then the head outside the database, then what is served. Nothing is published that is not committed; and since a
round's number is unique, several collectors may try and one of them succeeds.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from ...errors import ConfideError, FormatError
from ...mdp import Policy, policies
from ...protocol.kinds.question import asked_by
from ...validation import Plain
from ..contract.contract import Contract
from ..contract.exchange import Restored
from ..contract.files import write_whole
from ..contract.folder import Folder
from ..contract.heads import FIRST, Head, SignedHead
from .learning import receive, send
from .sources import CountedReports, RoundData, RoundSource, Unanswered
from .store import CollectorStore, Opening

LOG = logging.getLogger("confide.collector")
PAUSE = 0.5
"""Seconds between two looks at what other collectors did."""
LONGEST = 2.0
"""Seconds between two attempts, at most, while something fails."""


class LearningFailed(ConfideError):
    """The child process could not learn, or is gone."""


class LearnerProcess:
    """The process that learns, started when it is first needed and again when it is gone."""

    def __init__(self, contract: Contract, earlier: bytes = b"") -> None:
        self._contract, self._earlier = contract, earlier
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, *message: Plain) -> list[bytes]:
        """Send one message to the process and return its response."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            send(process.stdin, list(message))
            answer = receive(process.stdout)
        except OSError as error:
            raise LearningFailed("learner-process-broken", f"The process that learns is gone: {error}.") from error
        if answer is None:
            raise LearningFailed("learner-process-gone", "The process that learns is gone.")
        done, *result = answer
        if not done:
            raise LearningFailed("learning-failed", f"Learning failed: {result[0]}")
        return list(result)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-P", "-m", f"{__package__}.learning"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._process.stdin is not None
            send(self._process.stdin, self._contract.data)
            send(self._process.stdin, self._earlier)
        return self._process

    def stop(self) -> None:
        """End the process, which holds nothing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process = None


class Publisher:
    """Publishes the chain: the newest head that is committed and also written down outside the database."""

    def __init__(self, store: CollectorStore, folder: Folder) -> None:
        self._store, self._file, self._contract = store, folder.head_file, store.contract
        self.current: SignedHead | None = None
        self.served = b""
        self.question_digests: dict[int, bytes] = {}
        """The fingerprint of each round's question, where that changes from round to round."""

    def check(self) -> None:
        """Refuse a database that is behind what was published, or that holds another head under its number; and a folder that is
        behind its own database, which hears of it after the file was written. Nothing is written here."""
        found = self._store.exists()
        newest = self._store.newest() if found else None
        ours = newest is not None and newest.head.contract == self._contract.digest.hex()
        noted = self._store.published() if ours and self._store.kind == "sqlite" else 0
        try:
            written = SignedHead.from_json(self._file.read_bytes(), self._contract.key)
        except FileNotFoundError:
            written = None
        if noted > (0 if written is None else written.head.round):
            raise FormatError(
                "folder-restored",
                f"Round {noted} was published, but {self._file} is behind it: an older copy of the folder was restored. "
                "Restore a newer one, or begin a new contract.",
            )
        if written is None:
            return
        number = written.head.round
        if newest is None or newest.head.round < number:
            at = "empty" if newest is None else f"at round {newest.head.round}"
            raise FormatError(
                "database-restored",
                f"Round {number} was published, but the database is {at}: an older copy was restored. "
                "Restore a newer one, or begin a new contract.",
            )
        stored = self._store.head(number)
        if stored is None or stored.digest != written.digest:
            raise FormatError(
                "database-of-other-round",
                f"The database has another round {number} than the one that was published. Restore its own.",
            )

    def advance(self) -> SignedHead | None:
        """Publish the newest committed head, and return it."""
        newest = self._store.newest()
        if newest is not None and newest != self.current:
            self._learn_questions(newest)
            write_whole(self._file, newest.to_json())
            self._store.note_published(newest.head.round)
            self.current, self.served = newest, newest.to_json()
        return newest

    def _learn_questions(self, newest: SignedHead) -> None:
        """Remember the questions of the rounds up to this one; other collectors may have opened some of them. Reports name
        what they answer by its fingerprint: whichever law pairs were drawn by, that of their family."""
        family, question = self._contract.design.question, newest.head.question
        if question is None or asked_by(family, self._store.question(question)).digest == family.digest:
            return
        for number in range(len(self.question_digests) + 1, newest.head.round + 1):
            signed = self._store.head(number)
            if signed is None or signed.head.question is None:
                raise FormatError(
                    "round-without-question", f"Round {number} carries no statistic. Restore its own database."
                )
            self.question_digests[number] = bytes.fromhex(signed.head.question)[
                : len(self._contract.design.question.digest)
            ]


class RoundCloser(threading.Thread):
    """The thread that looks whether a round is full, and closes it."""

    def __init__(
        self,
        store: CollectorStore,
        publisher: Publisher,
        private: bytes,
        learned: Callable[[float], None],
        source: RoundSource | None = None,
        restored: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """learned: called with how many seconds learning took. source: what is learned from, by default reports counted here.
        restored: called with a sentence when it turns out that an older copy was restored; nothing is published then."""
        super().__init__(name="confide-closer", daemon=True)
        self._store, self._publisher, self._private, self._learned = store, publisher, private, learned
        self._child = LearnerProcess(store.contract, store.earlier)
        self._source = source or CountedReports(store)
        self._restored = restored
        self._look = threading.Event()
        self._stopped = threading.Event()
        self.certificate = b""

    def look(self) -> None:
        """Make the thread look at once, since a round may be full."""
        self._look.set()

    def stop(self) -> None:
        """End the thread, and the child process with it."""
        self._stopped.set()
        self._look.set()
        self._child.stop()
        self.join(2.0)

    def run(self) -> None:
        """Look until stopped; whatever fails is tried again from what is stored."""
        wait = PAUSE
        while not self._stopped.is_set():
            try:
                self.step()
                wait = PAUSE
            except Restored as error:
                self._restored(str(error))
                return
            except Exception as error:
                if self._stopped.is_set():
                    return
                LOG.error(
                    "closing failed",
                    extra={
                        "details": {
                            "error": type(error).__name__,
                            "text": str(error)[:200] if isinstance(error, ConfideError) else "",
                        }
                    },
                )
                wait = min(2 * wait, LONGEST)
            self._look.wait(wait)
            self._look.clear()

    def step(self) -> None:
        """Publish what is committed, then close a round if one is full; first of all, open the first."""
        published = self._publisher.current
        if self.certificate and published is not None and self._source.idle(published.head.round):
            return
        newest = self._publish()
        if newest is None:
            state, total, policy, expected, question = self._child.ask("begin")
            head = self._signed(None, policy, None, 0, question)
            self._open(Opening(head, policy, state, total, None, expected, question))
        else:
            round_data = None if newest.head.ended else self._source.round_data(newest.head.round)
            if round_data is not None:
                self._close(newest, round_data)
        if not self.certificate:
            (self.certificate,) = self._child.ask("certificate")

    def _close(self, newest: SignedHead, round_data: RoundData) -> None:
        began = time.perf_counter()
        groups = [list(group) for group in round_data.groups]
        state, total, policy, expected, release, question = self._child.ask(
            "learn", round_data.state, round_data.before, groups
        )
        policy, question = self._safe(newest, round_data, (policy, question))
        head = self._signed(newest, policy, release, round_data.people, question)
        self._open(Opening(head, policy, state, total, release, expected, question))
        self._learned(time.perf_counter() - began)
        self._look.set()  # people may have filled the next one meanwhile

    def _safe(self, newest: SignedHead, round_data: RoundData, learned: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """The policy to publish, and what to ask: the learned ones, unless this round or an earlier one raised an alarm, or this
        one is in doubt. Then what the reports before it taught stays: the policy that is published; or, after an alarm, chance,
        where nothing before it is known to be sound.

        Sums are of all users so far, so that what was learned after an alarm is never trusted again: a successor begins anew.
        """
        number = newest.head.round
        kept, asked = self._store.policy(newest.head.policy), newest.head.question
        assert kept is not None
        question = learned[1] if asked is None else self._store.question(asked)
        assert question is not None
        if self._store.alarm() is not None:
            return kept, question
        alarm = self._source.alarm(number, round_data.groups)
        if alarm is None:
            return learned
        details = {"details": {"round": number, "text": alarm.text}}
        if not alarm.raised:
            LOG.warning("policy waits", extra=details)
            return kept, question
        self._store.raise_alarm(number, alarm.text)
        LOG.error("alarm", extra=details)
        spec = self._store.contract.design.question.spec
        chance = policies.to_bytes([Policy.uniform(spec.horizon, spec.states, spec.actions)])
        return (kept if alarm.sound else chance), question

    def _open(self, opening: Opening) -> None:
        if self._store.open(opening):
            LOG.info("round opened", extra={"details": {"round": opening.head.head.round}})
        self._publish()

    def _publish(self) -> SignedHead | None:
        """Publish the newest committed head, once the processes that must have stored it have; an end is published all the same."""
        newest = self._store.newest()
        if newest is not None:
            with contextlib.suppress(*((Unanswered,) if newest.head.ended else ())):
                self._source.announce(newest)
        return self._publisher.advance()

    def _signed(
        self, before: SignedHead | None, policy: bytes, release: bytes | None, people: int, question: bytes
    ) -> SignedHead:
        contract, successor = self._store.contract, self._store.successor()
        number = 1 if before is None else before.head.round + 1
        head = Head(
            contract=contract.digest.hex(),
            round=number,
            policy=hashlib.sha256(policy).hexdigest(),
            previous=FIRST if before is None else before.digest,
            release=None if release is None else hashlib.sha256(release).hexdigest(),
            people=people,
            ended=number > len(contract.ends),
            successor=None if successor is None else successor.hex(),
            question=hashlib.sha256(question).hexdigest() if question else None,
        )
        return SignedHead.signed(head, self._private)
