"""A service that learns online: the contract, devices, the collector, intermediaries, and the dashboard."""
