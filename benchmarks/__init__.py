"""Benchmarks: ratios measured side by side in one run. `./run bench` prints them; `--json` gives one object."""
