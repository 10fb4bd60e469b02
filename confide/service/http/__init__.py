"""What all servers of a service share: addresses and connections, refusals, limits, commits in groups, databases, and log lines."""
