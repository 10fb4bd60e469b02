"""What every test stands on."""

from __future__ import annotations

import gc
import os

from hypothesis import settings

# Collecting tests makes half a million objects that stay; looking for cycles among them, again and again, is a third of its work.
gc.disable()

# Read when numpy and matplotlib are first imported, which is after this. One thread each: the workers share the cores.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples in every run, so that a red test is red for everyone; `--hypothesis-profile=explore` looks further.
# No deadline: the first example pays for compilation.
settings.register_profile("confide", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("confide")


def pytest_collection_finish() -> None:
    """Cycles are looked for again, among what tests make; what was there before them stays."""
    gc.collect()
    gc.freeze()
    gc.enable()
