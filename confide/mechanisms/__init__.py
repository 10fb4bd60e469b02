"""Noise comes out of this room: how it is drawn, what it hides, how far it strays; one small file a mechanism."""
