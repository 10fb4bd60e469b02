"""Papers' figures come out of this room, as data with an address."""
