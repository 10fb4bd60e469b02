"""Noise: how it is drawn, what it hides, how far it strays; one small file a mechanism."""
