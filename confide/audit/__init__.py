"""Lower bounds come out of this room: what an attacker can prove about a mechanism from its output."""
