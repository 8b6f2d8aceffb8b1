"""Private detectors: counts with exact noise, and the scores that are read from them."""
