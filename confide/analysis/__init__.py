"""From a log to a private policy: fits, what is said about them, and how runs and fits are saved, reported and drawn."""
