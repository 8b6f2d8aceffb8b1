"""One thread for products that must round alike on every machine."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep matrix products in one thread: with more, a wide product is cut up and rounds otherwise.

    A release must have the same bytes whoever computes it, on however many cores.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
