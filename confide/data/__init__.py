"""The boundary: everything that can hold raw data. Trajectories and their readers, statistics of an episode, privatizers."""
