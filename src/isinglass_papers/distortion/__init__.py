"""Random nonlinear distortion, run again."""
