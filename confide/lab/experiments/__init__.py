"""Papers' figures and tables come out of this room, as data with an address."""
