"""Membership: how likely a record is to be among those behind a release or a model."""
