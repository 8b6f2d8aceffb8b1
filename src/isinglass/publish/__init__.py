"""The owner's whole step: a table on disk becomes a release that leaves and a key that stays."""

from isinglass.publish.second_pass import Draft
from isinglass.publish.write import Caller, Written, write_release

__all__ = ["Caller", "Draft", "Written", "write_release"]
