"""Papers' figures and tables, as data with an address."""
