"""A question, a mechanism and a trust model that the package does not have, each in a file of its own."""
