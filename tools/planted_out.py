"""Mutants of what `sound` asks, of what a fit is calibrated by, and of formats that are read."""

from __future__ import annotations

from .planted import Mutant

SOUND = "tests/lab/simulation/test_sound.py"
UNSEEN = "it changes which question is asked, and its noise with it"

MUTANTS = (
    Mutant(
        "sound pools counts over steps without a word, also where the paper counts each apart",
        "protocol/papers.py",
        'return calibration != "tight" and paper in STEP_BY_STEP',
        'return calibration == "paper" and paper in STEP_BY_STEP',
        (SOUND,),
        unseen=UNSEEN,
    ),
    Mutant(
        "a certificate does not say that counts are pooled over steps",
        "protocol/design.py",
        "    return replace(design, remarks=(*design.remarks, remark))\n",
        "    return design\n",
        (SOUND,),
        unseen="it changes what a certificate says, and nothing that is released",
    ),
    Mutant(
        "a run that pools counts over steps is named like one that does not",
        "lab/simulation/simulate.py",
        'name = _learner_name(setting) + (f" {POOLED}" if pooled else "")',
        "name = _learner_name(setting)",
        (SOUND,),
        unseen="it changes a name",
    ),
    Mutant(
        "a fit takes a calibration and applies half of it",
        "analysis/fitting/plan.py",
        "                self.calibration,\n                mechanism,\n                self.paper,\n",
        "                TIGHT,\n                mechanism,\n                self.paper,\n",
        ("tests/lab/simulation/test_offline_is_fit.py::test_papers_guarantees_are_stated_as_they_are",),
        unseen="its noise keeps the promise; it is not what the paper prints",
    ),
    Mutant(
        "a release that does not say its noise is read as one without",
        "protocol/releases/release_bytes.py",
        "form != FORMAT or len(rest) not in (1, 2, 3, 4)",
        "form != FORMAT or len(rest) not in (0, 1, 2, 3, 4)",
        ("tests/protocol/releases/test_release_bytes.py::test_a_release_that_does_not_say_its_noise_is_refused",),
        unseen="it changes what is read of bytes",
    ),
)
