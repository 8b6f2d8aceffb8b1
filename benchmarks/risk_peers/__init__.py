"""Our audit's risks beside those that other tools measure on the same releases."""
