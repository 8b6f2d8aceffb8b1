"""Every attack that an audit sends, by name."""

from __future__ import annotations

from isinglass.attack.base import Attack
from isinglass.attack.codes import CodesAttack
from isinglass.attack.collusion import CollusionAttack
from isinglass.attack.decoding import DecodingAttack
from isinglass.attack.distance import DistanceAttack
from isinglass.attack.ica import ICAAttack
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.map_estimate import MAPAttack
from isinglass.attack.matched_columns import MatchedColumnsAttack
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.posterior import PosteriorAttack
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.attack.row_order import RowOrderAttack
from isinglass.attack.rowless_linkage import RowlessLinkageAttack
from isinglass.attack.sample import SampleAttack
from isinglass.attack.spectral import SpectralAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.attack.unit_pursuit import UnitPursuitAttack

#: Attacks by name, in the order in which they are sent.
ATTACKS: dict[str, type[Attack]] = {
    kind.name: kind
    for kind in (
        NaiveAttack,
        KnownInputAttack,
        UnitPursuitAttack,
        DecodingAttack,
        SampleAttack,
        ICAAttack,
        MAPAttack,
        SpectralAttack,
        PosteriorAttack,
        RowOrderAttack,
        KeptColumnsAttack,
        LinkageAttack,
        DistanceAttack,
        MatchedColumnsAttack,
        CodesAttack,
        RowFactorAttack,
        PatternLinkageAttack,
        RowlessLinkageAttack,
        CollusionAttack,
        StolenKeyAttack,
    )
}
#: Names of the attacks that rely on row numbers.
NEED_ROWS = frozenset(name for name, kind in ATTACKS.items() if kind.needs_rows)


def story_of(name: str, otherwise: str) -> str:
    """What an attack does, in a few words, or what to say of one of the caller's own."""
    return ATTACKS[name].story if name in ATTACKS else otherwise
