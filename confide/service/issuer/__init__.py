"""The issuer: knows people, and signs one token a person blindly. It is never the collector, and loads nothing of it."""
