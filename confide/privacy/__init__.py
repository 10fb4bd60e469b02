"""Guarantees and accounting: losses, calibrations, schedules, certificates, ledgers.

No data, no noise and no reinforcement learning live here.
"""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .calibration import keeps, least_noise, one_of, settled, true_guarantee
    from .certificate import Certificate, StatedGuarantee
    from .guarantee import ADD_REMOVE, REPLACE, Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
    from .ledger import Balance, Ledger
    from .loss import (
        Act,
        Concentrated,
        Disclosed,
        GaussianLoss,
        Loss,
        Mechanism,
        Pure,
        Sensitivity,
        Tabulated,
        compose,
        repeat,
        rho_of,
    )
    from .schedule import ONCE, Participation, Schedule

__all__ = [
    "ADD_REMOVE",
    "ONCE",
    "REPLACE",
    "Act",
    "Balance",
    "Central",
    "Certificate",
    "Concentrated",
    "Disclosed",
    "GaussianLoss",
    "Guarantee",
    "Joint",
    "Ledger",
    "Local",
    "Loss",
    "Mechanism",
    "NoPrivacy",
    "Participation",
    "Pure",
    "Schedule",
    "Sensitivity",
    "Shuffle",
    "StatedGuarantee",
    "Tabulated",
    "compose",
    "keeps",
    "least_noise",
    "one_of",
    "repeat",
    "rho_of",
    "settled",
    "true_guarantee",
]

_HOMES = {
    "ADD_REMOVE": "guarantee",
    "Act": "loss",
    "Balance": "ledger",
    "Central": "guarantee",
    "Certificate": "certificate",
    "Concentrated": "loss",
    "Disclosed": "loss",
    "GaussianLoss": "loss",
    "Guarantee": "guarantee",
    "Joint": "guarantee",
    "Ledger": "ledger",
    "Local": "guarantee",
    "Loss": "loss",
    "Mechanism": "loss",
    "NoPrivacy": "guarantee",
    "ONCE": "schedule",
    "Participation": "schedule",
    "StatedGuarantee": "certificate",
    "Pure": "loss",
    "REPLACE": "guarantee",
    "Schedule": "schedule",
    "Sensitivity": "loss",
    "Shuffle": "guarantee",
    "Tabulated": "loss",
    "compose": "loss",
    "keeps": "calibration",
    "least_noise": "calibration",
    "one_of": "calibration",
    "repeat": "loss",
    "rho_of": "loss",
    "settled": "calibration",
    "true_guarantee": "calibration",
}

__getattr__ = on_first_use(__name__, _HOMES)
