"""Pictures, tables and pages come out of this room, as pure functions of what is already public."""
