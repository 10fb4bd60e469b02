"""Conformance suites come out of this room, for mechanisms, privatizers, learners and environments of your own."""
