"""Attack a person as the operator: sign a policy for one device alone, and lead it there by a ticket.

Run it: python examples/sceptic_witness.py
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from confide.mdp import Policy, Spec
from confide.privacy import Joint
from confide.service.collector.founding import make_service
from confide.service.contract import Head, SignedHead, Ticket
from confide.service.contract.encoding import to_base64
from confide.service.device import Device, MemoryStore, Transport
from confide.service.device.transport import HttpAnswer

EVERYBODY, ALONE = 1, 0  # the action of every user's policy, and of the one for this device alone


class Operator(Transport):
    """Answers as a collector, a curator or a witness would, with whatever it likes: it has the key."""

    def __init__(self, folder, rounds):
        super().__init__("http://127.0.0.1:1")
        contract = folder.contract()
        self.pages, previous = {"/v1/intermediary": json.dumps({"address": self.url}).encode()}, "0" * 64
        for number, action in enumerate(rounds, start=1):
            policy = Policy.deterministic(np.full((3, 2), action), 2)
            head = Head(contract.digest.hex(), number, policy.digest, previous, None, 0, ended=False)
            signed = SignedHead.signed(head, folder.key(contract))
            self.pages |= {f"/v1/rounds/{number}": signed.to_json(), f"/v1/policies/{policy.digest}": policy.to_bytes()}
            previous = signed.digest
        self.pages["/v1/rounds/current"] = self.pages["/v1/rounds/1"]
        ticket = Ticket(contract.digest, 1, 0, round=len(rounds))
        self.ticket = json.dumps({"ticket": to_base64(ticket.to_bytes())}).encode()

    def beside(self, url):
        """The curator is one of ours too."""
        return self

    def get(self, path):
        """A public document."""
        return HttpAnswer(200 if path in self.pages else 404, None, self.pages.get(path, b""))

    def post(self, path, body, media_type):
        """A ticket for a batch that follows the last round."""
        return HttpAnswer(201, None, self.ticket)


with tempfile.TemporaryDirectory() as place:
    folder = make_service(Path(place) / "tea", Spec(2, 2, 3), Joint(1.0, 1e-6), 100, name="tea", window=60.0)
    hostile, honest = Operator(folder, [EVERYBODY, ALONE]), Operator(folder, [EVERYBODY, EVERYBODY])
    for name, witness in (("no witness", None), ("a witness", honest)):
        heard = []
        options = {"store": MemoryStore(), "background": False, "witness": witness, "listener": heard.append}
        device = Device(hostile, folder.contract(), **options)
        device.refresh()
        episode = device.begin()
        followed = "everybody's policy" if episode.act(0) == EVERYBODY else "a policy of its own"
        print(f"{name}: the device follows {followed}, reports: {episode.reports}, says: {[n.text for n in heard]}")
