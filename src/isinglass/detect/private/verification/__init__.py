"""Verification of the guarantee: noise on tables that are made here, attacked and checked."""
