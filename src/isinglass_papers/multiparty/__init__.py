"""Random multiparty perturbation, run again."""
