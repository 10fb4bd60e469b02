"""Promises and accounts come out of this room: guarantees, losses, calibrations, schedules, certificates, ledgers.

No data, no noise and no reinforcement learning live here.
"""

from .act import Act, Mechanism, Sensitivity
from .calibration import keeps, least_noise, settled, true_guarantee
from .certificate import Certificate, Promise
from .guarantee import ADD_REMOVE, REPLACE, Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
from .ledger import Balance, Ledger
from .loss import Concentrated, Gaussian, Loss, Pure, Tabulated, compose, repeat, rho_of
from .schedule import Schedule

__all__ = [
    "ADD_REMOVE",
    "REPLACE",
    "Act",
    "Balance",
    "Central",
    "Certificate",
    "Concentrated",
    "Gaussian",
    "Guarantee",
    "Joint",
    "Ledger",
    "Local",
    "Loss",
    "Mechanism",
    "NoPrivacy",
    "Promise",
    "Pure",
    "Schedule",
    "Sensitivity",
    "Shuffle",
    "Tabulated",
    "compose",
    "keeps",
    "least_noise",
    "repeat",
    "rho_of",
    "settled",
    "true_guarantee",
]
