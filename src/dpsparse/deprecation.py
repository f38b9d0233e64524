"""Old public names, which work for one release more."""

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of an old name.

    Examples
    --------
    >>> import warnings
    >>> from dpsparse.deprecation import warn_renamed
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_renamed("promise", "guarantee")
    >>> print(caught[0].message)
    promise is now called guarantee; the old name goes with the next release
    """
    warnings.warn(
        f"{old} is now called {new}; the old name goes with the next release", DeprecationWarning, stacklevel=3
    )
