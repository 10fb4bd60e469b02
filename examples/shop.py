"""What should a shop show? A real log of 10,000 impressions (examples/data), one step each, without names.

Run it: python examples/shop.py [folder]. Ten thousand impressions with 46 clicks are few for 102 pairs of place and item,
and the answer says so: follow current practice, and how many it would take.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.answering import answer

LOG = Path(__file__).parent / "data" / "shop.csv"
FIT_FILE = """
[data]
files = ["shop.csv"]

[columns]
state = "position"
action = "item_id"
reward = "click"

[problem]
actions = 34
horizon = 1
fixed_length = true

[labels]
states = ["1", "2", "3"]

[guarantee]
epsilon = 1.0
delta = 1e-6
budget = 0.1

[output]
folder = "policy"
"""


def main(folder: Path) -> None:
    """Copy the log, so that its ledger lies beside the copy, and answer."""
    shutil.copy(LOG, folder / "shop.csv")
    answer(folder, FIT_FILE, ("practice", "learned", "uniform", "always:5"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
