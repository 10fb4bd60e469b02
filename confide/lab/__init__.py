"""Where users are simulated: environments, the simulator, the audit, the experiments of papers, and conformance suites."""
