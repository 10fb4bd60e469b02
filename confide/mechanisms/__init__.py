"""Noise comes out of this room: how it is drawn, what it hides and how far it strays, one small file for each mechanism."""
