"""In which period a device is: the earlier of what the service signed and of its own clock, and never before one of its visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ConfideError
from ..contract.periods import Periods, SignedPeriod
from .chain import fetched
from .store import marks_of

if TYPE_CHECKING:
    from .device import Device


def following_period(device: Device, periods: Periods) -> int:
    """The number of the period that a visit of this person would be in now. Without a response it is one that was signed before."""
    contract = device.contract
    assert contract is not None
    document = device.store.read()
    known = device.memory(document).get("period")
    signed = known["number"] if known is not None and known["contract"] == contract.pin else 0
    visits = [one.get("period", 0) for one in marks_of(document, device.mark()) if one.get("contract") == contract.pin]
    own = periods.at(device.now())
    if signed < own:  # else nothing that may be shown matters
        try:
            shown = SignedPeriod.from_json(fetched(device.transport, "/v1/period"), contract.key)
            signed = max(signed, shown.number_for(contract.digest))
            with device.store.changing() as changed:
                device.memory(changed)["period"] = {"contract": contract.pin, "number": signed}
        except ConfideError as error:
            device.tell("offline", str(error))
    return max([min(signed, own), *visits])
