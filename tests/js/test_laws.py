"""The laws of what pages draw, in Node: those of `npm test`, every day. In a Chromium they are run by `test_browser`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from confide.lab.audit import browsers

CASES = Path(__file__).parents[2] / "js" / "test" / "laws.cases.js"
ONE = """
import { cases } from %s;
const found = {};
for (const [name, work] of Object.entries(cases())) {
  try { await work(); } catch (error) { found[name] = error.message; }
}
process.stdout.write(JSON.stringify([Object.keys(cases()).length, found]));
"""


@pytest.mark.skipif(bool(browsers.missing()), reason="there is no Node 20 here")
def test_pages_draw_the_laws_that_are_priced() -> None:
    """Each comparison fails a true law with probability 1e-6 at most, by Bernstein's bound."""
    given = ONE % json.dumps(CASES.as_uri())
    command = [str(browsers.node()), "--input-type=module", "-"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    many, failed = json.loads(done.stdout)
    assert many >= 18 and failed == {}
