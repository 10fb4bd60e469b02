"""Learning from releases: planning as pure functions of arrays, and the learners that ask and learn."""
