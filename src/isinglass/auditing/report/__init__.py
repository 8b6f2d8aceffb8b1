"""Reports: findings as pages, figures and sentences."""
