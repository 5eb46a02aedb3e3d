package typegen

// prelude is what every stub begins with.
const prelude = preludeHead + errorClass + preludeRows

const preludeHead = `# SDK of scripts in Python. Scripts have SDK without an import; "from koan import SDK" tells an editor of it.

from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str # which members may hide
from typing import Any, Generic, ItemsView, Iterator, KeysView, Literal, Mapping, Sequence, TypedDict, TypeVar, Union, ValuesView

_T = TypeVar("_T")
_Sort = Union[_str, Mapping[_str, Any], Sequence[Union[_str, Mapping[_str, Any]]]]
_With = Union[_str, Sequence[_str], Mapping[_str, Any]]
_Filter = Mapping[_str, Any]

`

// errorClass is the base of the classes of koan.errors.
const errorClass = `class KoanError(Exception):
    code: _str
    message: _str
    hint: _str
    path: Union[_str, None]
    details: Any
    retry: _str
    def __init__(self, message: _str = ..., **members: Any) -> None: ...

`

const preludeRows = `# What calls return: dicts whose members are attributes too. A member with the name of a method of dict is the member.
class _Members:
    def __getitem__(self, name: _str) -> Any: ...
    def __setitem__(self, name: _str, value: Any) -> None: ...
    def __delitem__(self, name: _str) -> None: ...
    def __contains__(self, name: object) -> _bool: ...
    def __iter__(self) -> Iterator[_str]: ...
    def __len__(self) -> _int: ...

class _Row(_Members):
    def keys(self) -> KeysView[_str]: ...
    def values(self) -> ValuesView[Any]: ...
    def items(self) -> ItemsView[_str, Any]: ...
    def get(self, name: _str, default: Any = ...) -> Any: ...

class Page(_Members, Generic[_T]):
    items: _list[_T]
    page: _int
    pageSize: _int
    totalCount: _int
    nextCursor: Union[_str, None]
    truncated: _bool

class Run:
    id: _str
    set: _str
    dryRun: _bool
    dry_run: _bool

class Out:
    def answer(self, value: Any = ...) -> None: ...
    def info(self, *values: Any) -> None: ...
    def warn(self, *values: Any) -> None: ...
    def warning(self, *values: Any) -> None: ...
    def error(self, *values: Any) -> None: ...
    def progress(self, done: _float, total: _float = ..., message: _str = ...) -> None: ...
    def emit(self, value: Any) -> None: ...
    def file(self, file: Any) -> Any: ...

`

// sdkClass is the beginning of the class of SDK, whose domains follow.
const sdkClass = `class _SDK:
    Entities: _Entities
    Servers: _Servers
    Out: Out
    args: Any
    run: Run
`
