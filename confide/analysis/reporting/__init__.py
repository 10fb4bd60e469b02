"""Pictures, tables and pages, as pure functions of what is already public."""
