"""A device: joins a service, follows its policies, and sends one report a person and operator, or as many as the contract prices.

What it keeps to: a report is drawn once, by exact noise, and its bytes are kept on disk until they are acknowledged, so that a
retry sends the same bytes; what was spent is remembered across contracts, versions and restarts; a contract must be the pinned one
and guarantee no less than the one that was joined before; a policy must be the signed one; rounds go forward only. It works offline
with the last policy it has, and never raises into the application that hosts it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...data.trajectories.observed import ObservedEpisodes
from ...data.trajectories.trajectory import Trajectory
from ...errors import ConfideError, FormatError
from ...mdp.feature_policy import Followed
from ...mechanisms.noise import NoiseSource
from ..contract import answers
from ..contract.contract import Contract
from ..contract.encoding import from_base64, to_base64
from ..contract.intermediary import CURATOR
from ..contract.uploads import ID_BYTES, MEDIA_TYPE
from . import chain, sending
from .episode import Episode
from .joining import find_contract
from .messages import message
from .notices import Listener, quiet, tell
from .periods import following_period
from .store import (
    DeviceStore,
    Document,
    FileStore,
    OpenedEpisode,
    PublishedRound,
    ServiceMemory,
    SpentMark,
    TicketTaken,
    WaitingReport,
    is_spent,
    marks_of,
)
from .transport import HttpAnswer, Transport, Unreachable, bounded

if TYPE_CHECKING:
    from .ticket_client import TicketClient
    from .token_client import Credential


class Device:
    """One person's end of one service."""

    def __init__(
        self,
        transport: Transport,
        contract: Contract | None = None,
        *,
        store: DeviceStore | None = None,
        listener: Listener | None = None,
        witness: Transport | None = None,
        noise: NoiseSource | None = None,
        background: bool = True,
        send: bool = True,
        clock: Callable[[], float] | None = None,
        between: TicketClient | None = None,
        credential: Credential | None = None,
        issuer: str | None = None,
    ) -> None:
        """contract: one that was checked. background: whether `finish` sends in a thread of its own; send: whether at all,
        or only `flush` does. clock: seconds since 1970, steady by default. credential, issuer: as in `join`.
        """
        self.transport, self.contract, self.witness = transport, contract, witness
        self.store: DeviceStore = FileStore() if store is None else store
        self._listener, self._noise, self._background = listener, noise, background
        self._sends, self._clock = send, clock or sending.steady_clock()
        self._live: dict[str, Episode] = {}
        self._held: dict[str, Callable[[], None]] = {}
        self._policy: tuple[str, tuple[Followed, ...]] | None = None
        self._sending, self._persisting = threading.Lock(), threading.Lock()
        self._line = between
        self._credential, self._issuer_address = credential, issuer
        self._period = 0

    @classmethod
    def join(
        cls,
        url: str,
        pin: str | None = None,
        *,
        store: DeviceStore | None = None,
        listener: Listener | None = None,
        witness: str | None = None,
        credential: Credential | None = None,
        issuer: str | None = None,
        background: bool = True,
        timeout: float = 10.0,
    ) -> Device:
        """Join a service, or come back to it. One that could not join tells so, acts at random and sends nothing; only an
        address that is none is refused with an error.

        pin: `sha256:...` of the contract. witness: an independent address that shows the same heads. credential: what this person
        shows the issuer of tokens, where the contract names one: text, or a function that says it when it is needed. issuer: its
        address, where the contract does not say. timeout: seconds that this and every later call may take in all.
        """
        seen = Transport(witness, timeout) if witness else None
        device = cls(Transport(url, timeout), store=store, listener=listener, witness=seen, background=background)
        device._credential, device._issuer_address = credential, issuer
        device._enter(pin)
        return device

    def tell(self, kind: str, text: str) -> None:
        """Log a notice and pass it on to the listener."""
        tell(self._listener, kind, text)

    @quiet(None)
    @bounded
    def _enter(self, pin: str | None) -> None:
        """Find a contract: the one that was joined, or that which the service shows if it may be accepted."""
        known = self.memory(self.store.read())
        self.contract, new = find_contract(known, self.transport, pin, self.tell)
        if new and self.contract is not None:
            with self.store.changing() as document:
                memory = self.memory(document)
                memory["contract"], memory["head"] = to_base64(self.contract.data), None
            self.refresh()
        elif self.contract is not None:
            self._later(self._catch_up)
        if self.contract is not None and self._credential is not None and self.contract.slots is None:
            self._later(self.admitted)  # now, so that when it is used says less about who it was issued to

    def memory(self, document: Document) -> ServiceMemory:
        """The part of the store's document about this service."""
        return document["services"].setdefault(self.transport.url, {})

    def now(self) -> float:
        """Seconds since 1970, by this device's clock."""
        return self._clock()

    def mark(self) -> SpentMark:
        """What a report to this operator is remembered by as spent."""
        assert self.contract is not None
        mark: SpentMark = {
            "operator": self.contract.operator,
            "key": to_base64(self.contract.key),
            "url": self.transport.url,
        }
        if self.contract.slots is not None:
            mark["contract"] = self.contract.pin
        if self.contract.period is not None:
            mark["period"], mark["seconds"] = self._period, self.contract.period.seconds
        return mark

    def spent(self, document: Document, batch: int | None = None) -> bool:
        """Whether this person has no visit left, or none that may be in a batch."""
        assert self.contract is not None
        return is_spent(document, self.mark(), self.contract.participation, batch)

    @quiet(False)
    @bounded
    def refresh(self) -> bool:
        """Ask for the current round; whether there is a policy to follow now."""
        from . import following

        if self.contract is None:
            return False
        try:
            held = (memory := self.memory(self.store.read())).get("head")
            current_round = following.current(self.transport, self.contract, memory, self.witness)
        except Unreachable as error:
            self.tell("offline", str(error))
            return self._policy is not None
        except chain.Contradicted as error:
            self.tell("refused", str(error))
            self._forget(error)
            return False
        except ConfideError as error:
            self.tell("refused", str(error))
            return False
        if current_round is not None:
            with self.store.changing() as document:
                memory = self.memory(document)
                before = memory.get("head")
                if before is None or before == held or before["round"] <= current_round["round"]:
                    memory["head"] = current_round
                    chain.remember(memory, self.contract, current_round["signed"])
        return True

    def _forget(self, error: chain.Contradicted) -> None:
        """Keep the proof of two stories; follow a head no more that a witness, silent before, knows otherwise or not at all."""
        with self.store.changing() as document:
            memory = self.memory(document)
            chain.keep_proof(memory, error)
            if (head := memory.get("head")) and head["digest"] == error.digest:
                memory["head"] = None

    @property
    def proof(self) -> list[str]:
        """Two signed heads that contradict each other, as they were served; empty if none were seen."""
        return list(self.memory(self.store.read()).get("proof", ()))

    def begin(self) -> Episode:
        """An episode under the policy at hand. If this person has a visit left that may be now, this spends it."""
        return self._opened() or self._episode(None, "", 0)

    @quiet(None)
    @bounded
    def _opened(self) -> Episode | None:
        if self.contract is None:
            return None
        token, admission, document = "", "", self.store.read()
        ticket: TicketTaken = {}
        head = self.memory(document).get("head")
        if head is None or head["ended"]:
            return self._episode(self._current_policy(head), "", head["round"] if head else 0)
        if self.contract.period is not None:
            self._period = following_period(self, self.contract.period)
        may = not self.spent(document) and self._free()
        if may and (self.contract.issuer is not None or self.contract.intermediary is not None):
            from .admitting import let_in

            admission, ticket, head = let_in(self, head)
            may = bool(ticket if self.contract.intermediary is not None else admission)
        if may:
            with self.store.changing() as document:
                batch = ticket["batch"] if ticket else 1 + len(marks_of(document, self.mark()))
                memory, mark = self.memory(document), self.mark()
                if not self.spent(document, batch) and memory.get("open") is None and memory.get("letter") is None:
                    token = (from_base64(admission) or os.urandom(ID_BYTES))[:ID_BYTES].hex()
                    self._held[token] = self.store.hold(token)
                    if "contract" in mark:
                        mark["batch"] = batch
                    document["spent"].append(mark)
                    due = self._clock() + sending.delay(self.contract.window)
                    opened: OpenedEpisode = {"token": token, "due": due, "round": head["round"]}
                    if ticket:
                        opened["ticket"], opened["batch"] = ticket["ticket"], ticket["batch"]
                    if "question" in head:
                        opened["question"] = head["question"]
                    if admission and not ticket:
                        opened["admission"] = admission
                    memory.pop("admission", None)
                    memory["open"] = opened
        episode = self._episode(self._current_policy(head), token, head["round"])
        if token:
            self._live[token] = episode
            if self.contract.window and self._background and self._sends:
                self._later(self._persist)
        return episode

    def _free(self) -> bool:
        """Whether no episode goes on and no report waits: one who comes again has one at a time."""
        waiting = self._waiting()
        if waiting.get("open") is None and waiting.get("letter") is not None:
            self.flush()  # its batch may be closed by now
            waiting = self._waiting()
        return waiting.get("open") is None and waiting.get("letter") is None

    def _episode(self, policy: Followed | None, token: str, followed: int) -> Episode:
        """An episode of numbered states, or of what the contract describes."""
        features = None if self.contract is None else self.contract.described
        if features is None:
            return Episode(self, policy, token, followed)
        from .observed import ObservedEpisode

        return ObservedEpisode(self, policy, token, followed, features)

    @quiet(None)
    @bounded
    def admitted(self, slot: int = 0) -> str | None:
        """This person's token, where the contract names an issuer: the one that is kept, or that the issuer gives."""
        from .admitting import admitted

        return admitted(self, self._credential, self._issuer_address, slot)

    def between(self) -> TicketClient:
        """The client of the shuffler or the curator."""
        assert self.contract is not None and self.contract.intermediary is not None
        if self._line is None:
            from .ticket_client import TicketClient

            self._line = TicketClient(self.transport, self.contract, self.contract.intermediary)
        return self._line

    def _current_policy(self, head: PublishedRound | None) -> Followed | None:
        """The policy of a head that was checked; where several are in use, one of them, drawn at random."""
        if head is None or self.contract is None:
            return None
        if self._policy is None or self._policy[0] != head["policy"]:
            raw = from_base64(head["bytes"])
            if hashlib.sha256(raw).hexdigest() != head["policy"]:
                raise FormatError("stored-policy-unsigned", "The stored policy is not the signed one.")
            self._policy = head["policy"], self.contract.policies(raw)
        several = self._policy[1]
        return several[int(sending.chance() * len(several))]

    def conclude(self, episode: Episode) -> None:
        """Draw the report of an episode that is over, and send it when it is due."""
        if self._live.pop(episode.token, None) is not None:
            self._draw(episode.token, episode.lived())
            self._held.pop(episode.token)()
        if episode.token and self._sends:
            self._later(self._persist if self._background else self.flush)

    def _catch_up(self) -> None:
        """Ask for the current round, and send the report that waits."""
        self.refresh()
        if self._background:
            self._persist()
        else:
            self.flush()

    @quiet(None)
    def _persist(self) -> None:
        """Send what waits when it is due, and again after every failure, until nothing waits; one thread does."""
        if not self._persisting.acquire(blocking=False):
            return
        pause = sending.FIRST_PAUSE
        try:
            while (due := self._next()) is not None:
                time.sleep(min(max(due - self._clock(), 0.0), sending.LONGEST_SLEEP))
                if not self.flush():  # whatever it was, never all the time
                    time.sleep(pause)
                    pause = min(2 * pause, sending.LONGEST_SLEEP)
        finally:
            self._persisting.release()

    def _next(self) -> float | None:
        """When there is something to do about a report; None if nothing waits."""
        memory = self._waiting()
        letter, opened = memory.get("letter"), memory.get("open")
        if letter is not None:
            return float(max(letter["due"], letter["again"]))
        if opened is None or (opened["token"] in self._live and not (self.contract and self.contract.window)):
            return None
        if opened["token"] not in self._live and self.store.is_held(opened["token"]):
            return self._clock() + sending.LONGEST_SLEEP
        return float(opened["due"])

    def _waiting(self) -> ServiceMemory:
        """The part of the store's document about this service, with times that will come."""
        memory = self.memory(self.store.read())
        if self.contract is not None and sending.put_right(memory, self._clock(), self.contract.window):
            with self.store.changing() as document:
                memory = self.memory(document)
                sending.put_right(memory, self._clock(), self.contract.window)
        return memory

    def _later(self, what: Callable[[], object]) -> None:
        """Run a function that may take a while: in a thread of its own where the device works in the background."""
        if self._background:
            threading.Thread(target=what, name="confide-device", daemon=True).start()
        else:
            what()

    def _draw(self, token: str, lived: Trajectory | ObservedEpisodes | None) -> None:
        """Draw the report of an opened episode; once, by the first caller. lived: None if the process that knew has ended; then
        what it handed over last is the report, or that of an empty episode."""
        contract = self.contract
        assert contract is not None
        with self.store.changing() as document:
            memory = self.memory(document)
            opened = memory.get("open")
            if opened is None or opened["token"] != token:
                return
            handed = opened.get("handed") if lived is None else None
            if handed is None:
                version = opened.get("version", 0) + (lived is not None)
                told = self._episode(None, "", 0).lived() if lived is None else lived
                handed = to_base64(message(contract, opened, told, self._noise, version))
            due = opened["due"] if contract.window else 0.0
            memory["open"] = None
            waiting: WaitingReport = {"body": handed, "due": due, "tries": 0, "again": 0.0}
            if opened.get("ticket"):
                waiting["batch"], waiting["epoch"] = opened["batch"], None
            memory["letter"] = waiting

    def _draw_what_is_due(self) -> None:
        """Draw the report that is due, at the time fixed before the episode: of what happened so far; after a crash, of nothing.

        Silence would tell. An episode that goes on in another process is reported there.
        """
        assert self.contract is not None
        opened = self._waiting().get("open")
        if opened is None:
            return
        live = self._live.get(opened["token"])
        over = self.contract.window if live is not None else not self.store.is_held(opened["token"])
        if opened["due"] <= self._clock() and over:
            self._draw(opened["token"], None if live is None else live.lived())

    @quiet(False)
    @bounded
    def leave(self, keep: bool = False) -> bool:
        """Hand over what there is, now, before the application ends: it is sealed, and opened at the time that was drawn for it.
        Whether nothing waits to be sent any more.

        A sealed episode of joint privacy may go on, and is replaced when it ends, until it is opened; a report is drawn once, so
        that its episode is over. Where a contract has no key to seal to, nothing is sent before its time.

        keep: also keep a sealed episode itself in this device's store, so that a later run goes on with it by `resume`, until its
        report is due. It lies there as it happened, readable to all who can read the store.
        """
        contract = self.contract
        if contract is None or contract.intermediary is None or contract.intermediary.sealing is None:
            return self.flush()
        for episode in list(self._live.values()):
            if contract.intermediary.role == CURATOR:
                self._hand_over(episode, keep)
            else:
                self.conclude(episode)
        with self.store.changing() as document:
            if (waiting := self.memory(document).get("letter")) is not None:
                waiting["due"] = 0.0
        return self.flush()

    @quiet(None)
    @bounded
    def resume(self) -> Episode | None:
        """The episode that an earlier run kept when it left (`leave(keep=True)`), to go on with under its round's policy.

        None if there is none, if its report is due, or if it goes on elsewhere.
        """
        opened, contract = self._waiting().get("open"), self.contract
        kept = None if opened is None else opened.get("kept")
        if opened is None or kept is None or contract is None or opened["due"] <= self._clock():
            return None
        if opened["token"] in self._live or self.store.is_held(opened["token"]):
            return None
        memory = self.memory(self.store.read())
        head = memory.get("head")
        if head is None or head["round"] != opened["round"]:
            from . import following

            head = following.numbered(self.transport, contract, opened["round"], memory, self.witness)
        token = opened["token"]
        with self.store.changing() as document:
            still = self.memory(document).get("open")
            if still is None or still["token"] != token or self.store.is_held(token):
                return None
            self._held[token] = self.store.hold(token)
        episode = self._episode(self._current_policy(head), token, opened["round"])
        episode.restore(kept)
        self._live[token] = episode
        if self._background and self._sends:
            self._later(self._persist)
        return episode

    def _hand_over(self, episode: Episode, keep: bool) -> None:
        """Hand over a sealed episode that may go on; the bytes are kept, in case that it does not."""
        assert self.contract is not None
        with self.store.changing() as document:
            opened = self.memory(document).get("open")
            if opened is None or opened["token"] != episode.token:
                return
            opened["version"] = opened.get("version", 0) + 1
            body = message(self.contract, opened, episode.lived(), self._noise, opened["version"])
            opened["handed"] = to_base64(body)
            if keep:
                opened["kept"] = episode.kept()
            else:
                opened.pop("kept", None)
        self.between().send(body)

    @quiet(False)
    @bounded
    def flush(self) -> bool:
        """Send the report if it is due; whether nothing waits to be sent any more.

        Where a batch is open its bytes are kept until it is closed, and sent again if the process that took them began anew.
        """
        if self.contract is None:
            return True
        with contextlib.ExitStack() as cleanup:
            if not self._sending.acquire(blocking=False):
                return False
            cleanup.callback(self._sending.release)
            self._draw_what_is_due()
            waiting = self._waiting().get("letter")
            if waiting is None:
                return True
            now = self._clock()
            accepted = waiting.get("epoch") is not None
            if now < max(waiting["due"], waiting["again"]):
                return accepted
            if accepted and self._settled(waiting, now):
                return True
            return self._send(waiting, now)

    def _settled(self, waiting: WaitingReport, now: float) -> bool:
        """Whether an accepted report need not be sent again: its batch is closed, or still open in the same epoch."""
        assert self.contract is not None and self.contract.intermediary is not None
        try:
            standing = self.between().standing(waiting["batch"])
        except Unreachable as error:
            self.tell("offline", str(error))
            standing = {"closed": False, "epoch": waiting["epoch"]}
        again = now + sending.look(self.contract.intermediary.patience)
        with self.store.changing() as document:
            return sending.note_standing(self.memory(document), standing, waiting["epoch"], again)

    def _send(self, waiting: WaitingReport, now: float) -> bool:
        """One attempt with the bytes that were drawn; they are dropped when they are counted, or never can be."""
        assert self.contract is not None
        answer, epoch, verdict = HttpAnswer(0, None, b""), None, answers.UNKNOWN
        try:
            answer, epoch = self._post(waiting)
            verdict = answers.verdict(answer.status, answer.media_type, answer.body, self.contract.digest.hex())
        except ConfideError as error:
            self.tell("offline", str(error))
        done = verdict != answers.UNKNOWN
        with self.store.changing() as document:
            memory = self.memory(document)
            letter = memory.get("letter")
            if letter is None or letter["body"] != waiting["body"]:
                return True
            if done:
                memory["letter"] = None
                memory["answer"] = answer.status
            elif epoch is not None and self.contract.intermediary is not None:
                again = now + sending.look(self.contract.intermediary.patience)
                letter["epoch"], letter["tries"], letter["again"] = epoch, 0, again
            else:
                letter["tries"] += 1
                letter["again"] = now + sending.patience(letter["tries"], answer.wait)
        if verdict == answers.REFUSED:
            self.tell("dropped", f"The service refused the report for good ({answer.status}); it is not sent again.")
        return done or epoch is not None

    def _post(self, waiting: WaitingReport) -> tuple[HttpAnswer, int | None]:
        """Send a message to the collector or the intermediary; returns the response, and the epoch of a batch that stays open."""
        body = from_base64(waiting["body"])
        if "batch" in waiting:
            return self.between().send(body)
        return self.transport.post("/v1/reports", body, MEDIA_TYPE), None
