"""The bytes that leave a device: a submission, or an upload with a ticket in front. Drawn once; the same bytes are sent again."""

from __future__ import annotations

from ...data.privatizers.devices import respond
from ...data.trajectories.observed import ObservedEpisodes, handed
from ...data.trajectories.trajectory import Trajectory
from ...mechanisms.noise import NoiseSource, device_noise
from ...protocol.kinds.question import asked_by
from ..contract.contract import Contract
from ..contract.encoding import from_base64
from ..contract.intermediary import CURATOR
from ..contract.uploads import Upload
from .store import OpenedEpisode


def message(
    contract: Contract,
    opened: OpenedEpisode,
    lived: Trajectory | ObservedEpisodes,
    noise: NoiseSource | None,
    version: int = 0,
) -> bytes:
    """The bytes to send about an episode. opened: what was remembered when it began. version: of a sealed one."""
    design, intermediary = contract.design, contract.intermediary
    question_bytes = opened.get("question")
    question = asked_by(design.question, None if question_bytes is None else from_base64(question_bytes))
    group = opened.get("batch", 1) - 1  # of the schedule: how large it is says how much noise its people need
    response = respond(design, question, lived, device_noise(noise), batch=group)
    if intermediary is None:
        number = bytes.fromhex(opened["token"])
        letter = Upload(number, contract.digest, opened["round"], response.to_bytes(design)).to_bytes()
        return letter + from_base64(opened.get("admission", ""))
    from ..contract.sealed import upload

    ticket = from_base64(opened["ticket"])
    if intermediary.role == CURATOR:
        told = handed(response, design.question)
    else:
        (submission,) = response  # disjoint batches: one report, to one shuffler
        told = submission.report.to_bytes(design)
    return upload(intermediary, ticket, told, round(1000 * opened["due"]), version)
