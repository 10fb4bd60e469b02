"""One file for each trust model: which noise is added, where sums are formed, and what must be assumed."""
