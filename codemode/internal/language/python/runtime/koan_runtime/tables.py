"""Tables and columns of pandas and its like as plain data. None of them is imported: what a value can do says what it is."""

from __future__ import annotations

from typing import Any

# What values without a member of their own for plain data are: the text that they print.
_TEXTS = ("pandas.Period", "pandas.Interval")
_NONE = ("pandas.NAType",)


def kind(v: Any) -> str:
    """Return the package and the class of a value: "pandas.Series"."""
    return f"{type(v).__module__.partition('.')[0]}.{type(v).__name__}"


def is_scalar(v: Any) -> bool:
    """Report whether a value is one of pandas that scalar knows."""
    return kind(v) in _TEXTS or kind(v) in _NONE


def scalar(v: Any) -> str | None:
    """Return the plain value of one that is_scalar reports."""
    return None if kind(v) in _NONE else str(v)


def is_table(v: Any) -> bool:
    """Report whether a value is a DataFrame of pandas."""
    return callable(getattr(v, "to_dict", None)) and hasattr(v, "columns") and hasattr(v, "index")


def is_column(v: Any) -> bool:
    """Report whether a value is a Series of pandas."""
    return callable(getattr(v, "to_dict", None)) and hasattr(v, "index") and hasattr(v, "to_frame")


def name_twice(table: Any) -> Any:
    """Return a name that several columns of a DataFrame have, None if there is none."""
    return None if table.columns.is_unique else table.columns[table.columns.duplicated()][0]


def rows_of(table: Any, labels: bool) -> Any:
    """Return the rows of a DataFrame.

    The names of its index are columns too. An index without names is left out if it counts rows, and without labels;
    else it is the column "index". One that is a column already stays that.
    """
    names = list(table.index.names)
    named = all(n is not None for n in names)
    if (named or (labels and not _counts(table.index))) and not any(n in table.columns for n in names if n is not None):
        table = table.reset_index()
    return _with_none(table).to_dict(orient="records")


def values_of(column: Any, labels: bool) -> Any:
    """Return the values of a Series: a list; with labels, by its index if that does more than count them."""
    if not labels or _is_range(column.index):
        return _with_none(column).tolist()
    labeled = dict(zip(column.index.tolist(), _with_none(column).tolist()))
    if column.index.nlevels > 1 or len(labeled) < len(column):  # 1 and True are one key of a dict
        names = list(column.index.names)  # value_counts of a group has the name of its column twice
        name = next(n for n in (column.name, "value", "values", "value of the column") if n is not None and n not in names)
        return _with_none(column.rename(name).reset_index()).to_dict(orient="records")
    return labeled


def _with_none(data: Any) -> Any:
    """Return a table or column with None where a value is missing, which pandas has NaN for."""
    return data.astype(object).where(data.notna(), None)


def _counts(index: Any) -> bool:
    """Report whether an index is made of numbers of rows."""
    return bool(index.nlevels == 1 and index.dtype.kind in "iu")


def _is_range(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.name is None
