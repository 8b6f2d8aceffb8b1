"""Base class of perturbations: fit draws a key, transform applies it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from isinglass import chance
from isinglass.errors import KeyFileError, ReleaseError
from isinglass.messages import warn
from isinglass.perturb.key import KeyFile, read_key, write_key
from isinglass.perturb.limits import refuse_beyond, refuse_misstated
from isinglass.perturb.registry import Variant, register
from isinglass.promise import HEURISTIC, Promise
from isinglass.table.columns import refuse_columns
from isinglass.table.survey import Survey, survey

Array = NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])

_claim_lock = threading.Lock()


def _where_invertible(method: Method) -> Method:
    """Leave a method out of perturbations that do not supply `_invert`."""
    wrapped = available_if(lambda self: type(self)._invert is not Perturbation._invert)
    return cast(Method, wrapped(method))


class Perturbation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer whose `fit` draws a secret key and whose `transform` applies it.

    A method supplies `_draw` (the key, from what a survey of the table says) and `_perturb`
    (rows to release). The key sits in `_key`, a dataclass of arrays that does not print.

    Examples
    --------
    >>> veil = ig.Rotation(optimize=None, bounds="scaled", random_state=0)
    >>> isinstance(veil, ig.Perturbation)
    True
    >>> Z = veil.fit([[0.1, 0.2], [0.9, 0.4]]).transform([[0.5, 0.5]])
    >>> veil.inverse_transform(Z).round(6)
    array([[0.5, 0.5]])
    """

    #: What releases and key files call it.
    method: ClassVar[str]
    #: The names it goes by in `isinglass.method_names`, and what each of them settles.
    variants: ClassVar[Mapping[str, Variant]] = {}
    key_type: ClassVar[type]
    #: The key is a pad: the same key on other records would subtract out.
    draws_noise: bool = False
    #: Noisy numbers are rounded, so that their last digits tell nothing.
    rounds_noise: bool = False
    #: Columns keep their names and units.
    keeps_columns: ClassVar[bool] = False
    #: Row i of the release belongs to row i of the table.
    keeps_rows: ClassVar[bool] = True
    #: A search for a setting leaves the method out where a table has fewer columns.
    least_columns: ClassVar[int] = 1
    #: The survey must bring each column's deviation.
    needs_deviation: ClassVar[bool] = False
    #: `inverse_transform` searches, and may be told where to start.
    searches_inverse: ClassVar[bool] = False
    #: `fit` must see all records at once, not only a survey of them.
    needs_table: bool = False
    promise: ClassVar[Promise] = HEURISTIC

    random_state: chance.RandomState
    _key: Any
    _seeded: bool
    #: The process that may go on drawing noise, and its next row; None where nobody may.
    _cursor: tuple[int, int] | None
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "method" in vars(cls):
            register(cls)

    # What a method supplies.

    def _draw(self, facts: Survey, rng: np.random.Generator) -> Any:
        """Check the parameters and draw the key."""
        raise NotImplementedError

    def _perturb(self, X: Array, first_row: int) -> Array:
        """Turn rows, of which the first has number `first_row`, into their release."""
        raise NotImplementedError

    def _invert(
        self, Z: Array, first_row: int, sample: ArrayLike | None, start: ArrayLike | None
    ) -> Array:
        """Give records back from their release; left out where nothing leads back."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_features_in_

    def key_bytes(self, n_columns: int) -> int:
        """How much memory the key of a table this wide takes."""
        raise NotImplementedError

    def key_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes a stored key's arrays must have; those not named may be missing."""
        raise NotImplementedError

    def table_bytes(self, n_rows: int, n_columns: int) -> int:
        """How much memory `fit` takes where it `needs_table`."""
        return 0

    @property
    def makes_public_file(self) -> bool:
        """Whether `public_file` will have something to say after `fit`."""
        return False

    def public_file(self) -> str | None:
        """Text of a file that goes out with the release, where a method has one."""
        return None

    @property
    def n_features_out(self) -> int:
        """How many columns a release has."""
        check_is_fitted(self, "_key")
        return self._n_features_out

    @property
    def seeded(self) -> bool:
        """Whether the key came from a `random_state` instead of the operating system."""
        return self._seeded

    def known_matrix(self) -> Array | None:
        """The matrix by which columns are mixed, where it is public."""
        return None

    def known_scales(self) -> dict[str, Array]:
        """Parameters of the fitted key that whoever holds the table computes by a public rule."""
        return {}

    def emit_again(self, dtype: Any) -> Array | None:
        """The release of the fitted table once more; None where rows are not drawn anew."""
        return None

    def drawn_from(self, table: Array) -> bool:
        """Whether what the key holds of records is of this table; it is where it holds nothing."""
        return True

    def public_parameters(self) -> dict[str, Any]:
        """The constructor's parameters as they may stand in a release; the seed is left out."""
        hidden = {"random_state", "bounds"}
        return {k: _plain(v) for k, v in self.get_params(deep=False).items() if k not in hidden}

    # scikit-learn's verbs.

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Draw a key for tables like `X`."""
        X = self._validated(X, reset=True)
        return self._fit(survey(X), X)

    def transform(self, X: ArrayLike) -> Array:
        """Perturb records; where noise is drawn, each call takes the next rows of the stream."""
        check_is_fitted(self, "_key")
        X = self._validated(X, reset=False)
        return self._perturb(X, self._claim(len(X)))

    def transform_rows(self, X: ArrayLike, first_row: int) -> Array:
        """Perturb records whose place in the whole table is known.

        For batches, partitions and retries: the rows numbered `first_row` on get the same bytes
        whoever computes them, in whatever pieces.
        """
        check_is_fitted(self, "_key")
        if first_row < 0:
            raise ValueError(f"first_row must be >= 0, got {first_row}")
        X = self._validated(X, reset=False)
        with _claim_lock:
            # A later transform must not give other records the noise of these.
            if self._cursor is not None:
                self._cursor = (self._cursor[0], max(self._cursor[1], first_row + len(X)))
        return self._perturb(X, first_row)

    @_where_invertible
    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        first_row: int = 0,
        sample: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> Array:
        """Give the records back from their release: what any holder of the key can do.

        How near they come depends on the method, and its `Weakness` says how. `first_row` is the
        number of the first row, for methods that draw noise by row number. `sample`, records like
        those released, helps where values are lost, and `start` says where to search first; a
        method that has no use for one of them ignores it.
        """
        check_is_fitted(self, "_key")
        released = np.asarray(Z, dtype=np.float64)
        if released.ndim != 2 or released.shape[1] != self._n_features_out:
            raise ValueError(
                f"Z must have the {self._n_features_out} columns of a release, "
                f"got an array of shape {released.shape}"
            )
        if first_row < 0:
            raise ValueError(f"first_row must be >= 0, got {first_row}")
        return self._invert(released, first_row, sample, start)

    def fit_survey(self, facts: Survey) -> Self:
        """Draw a key from a survey instead of the table, which may be too large to hold."""
        if self.needs_table:
            raise ReleaseError(f"{type(self).__name__} must see the whole table; call fit")
        self.n_features_in_ = facts.n_columns
        return self._fit(facts, None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """`z0, z1, …`: a perturbation that mixes columns cannot keep their names."""
        check_is_fitted(self, "_key")
        names = [f"z{i}" for i in range(self._n_features_out)]
        if self.keeps_columns:
            known = getattr(self, "feature_names_in_", None)
            if input_features is None:
                input_features = known
            names = names if input_features is None else list(input_features)
        return np.asarray(names, dtype=object)

    # Keys on disk.

    def save_key(
        self, path: str | Path, *, passphrase: str | None = None, force: bool = False
    ) -> None:
        """Write the key to a file only its owner can read (mode 0600)."""
        write_key(path, self.key_file(), passphrase=passphrase, force=force)

    def key_file(self) -> KeyFile:
        """The key as named arrays and facts, ready to be written."""
        check_is_fitted(self, "_key")
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if callable(value):
                raise KeyFileError(
                    f"a key with a function of your own as {name} cannot be saved: a key file "
                    "holds numbers, never code"
                )
        parameters = {k: _plain(v) for k, v in parameters.items() if k != "random_state"}
        facts = {
            "parameters": parameters,
            "n_features": self.n_features_in_,
            "names": [str(n) for n in getattr(self, "feature_names_in_", [])],
            "seeded": self._seeded,
        }
        key = self._key
        arrays = {f.name: getattr(key, f.name) for f in fields(key)}
        return KeyFile(self.method, facts, {k: v for k, v in arrays.items() if v is not None})

    @classmethod
    def from_key(cls, path: str | Path, *, passphrase: str | None = None) -> Self:
        """Read a key that was saved by this method; a key of another method is an error."""
        return cls.from_key_file(read_key(path, passphrase=passphrase), str(path))

    @classmethod
    def from_key_file(cls, stored: KeyFile, where: str) -> Self:
        """Build what a key file describes; `where` is the file's name, for errors."""
        if stored.method != cls.method:
            raise KeyFileError(
                f"key file {where} belongs to the method {stored.method}, not {cls.method}"
            )
        try:
            refuse_misstated(cls, stored.facts["parameters"])
            perturbation = cls.from_parameters(stored.facts["parameters"])
            perturbation._restore(stored)
            sound = perturbation._key_fits()
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            sound = False
        if not sound:
            raise KeyFileError(
                f"key file {where} is damaged: it does not hold what {stored.method} needs"
            )
        return perturbation

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """An unfitted estimator from parameters that went through JSON."""
        return cls(**parameters)

    def _restore(self, stored: KeyFile) -> None:
        """Take the key back from a file; the opposite of `key_file`."""
        self.n_features_in_ = int(stored.facts["n_features"])
        if stored.facts["names"]:
            self.feature_names_in_ = np.asarray(stored.facts["names"], dtype=object)
        self._key = self.key_type(
            **{f.name: stored.arrays.get(f.name) for f in fields(self.key_type)}
        )
        self._seeded = bool(stored.facts["seeded"])
        # Nobody knows how much of a stored pad is used up, so it must be told which rows to use.
        self._cursor = None

    def _key_fits(self) -> bool:
        """Whether the key's arrays have the shapes, kinds and finite numbers that work needs."""
        for name, shape in self.key_shapes().items():
            array = getattr(self._key, name)
            if array is None or array.shape != shape:
                return False
        kinds = (np.float64, np.uint64, np.int64)
        arrays = [getattr(self._key, f.name) for f in fields(self._key)]
        return all(a is None or (a.dtype in kinds and bool(np.isfinite(a).all())) for a in arrays)

    # The machinery.

    def _validated(self, X: ArrayLike, *, reset: bool) -> Array:
        refuse_columns(X)
        try:
            return np.asarray(
                validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order=None)
            )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            # scikit-learn quotes the text it met, which is a record's.
            raise ValueError("X must hold numbers only; it has text in it") from None

    def _fit(self, facts: Survey, X: Array | None) -> Self:
        refuse_beyond(self.get_params(deep=False))  # or no file of ours could be read back
        self._prepare(facts)
        self._seeded = self.random_state is not None
        self._key = self._draw(facts, chance.generator(self.random_state))
        self._cursor = (os.getpid(), 0)
        return self

    def _prepare(self, facts: Survey) -> None:
        """Settle what must be known before the key is drawn; scaled methods settle bounds."""

    def _claim(self, n_rows: int) -> int:
        """Take the next `n_rows` row numbers of a noise stream, so that none is used twice."""
        if not self.draws_noise:
            return 0
        with _claim_lock:
            if self._cursor is None or self._cursor[0] != os.getpid():
                raise ReleaseError(
                    f"this {type(self).__name__} came from a file, a pickle or another process, "
                    "and cannot know which rows already got noise; call transform_rows with the "
                    "number of the first row"
                )
            pid, first = self._cursor
            self._cursor = (pid, first + n_rows)
        return first

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if "_key" in state:
            warn(
                f"a fitted {type(self).__name__} is being pickled or copied, and its key with it",
            )
            state["_cursor"] = None
        return state


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it: arrays as lists, functions by name."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    if callable(value):
        return getattr(value, "__name__", "callable")
    return value
