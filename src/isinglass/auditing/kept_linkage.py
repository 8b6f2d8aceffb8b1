"""A linkage attack that keeps what it learned, so that its levels are counted without learning."""

from __future__ import annotations

from numpy.typing import ArrayLike

from isinglass.attack.knowledge import Fact, Knowledge
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.linking.linker import Linker


class KeepingLinkage(LinkageAttack):
    """Keeps the last linker in `kept`."""

    kept: Linker | None = None

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Linker:
        self.kept = super().linker(released, knowledge)
        return self.kept
