"""Files of the app's, as streams of any size."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._wire import MAX_PIECE

if TYPE_CHECKING:
    from ._ask import Asking

_BUFFER = MAX_PIECE  # what one question reads or writes


@dataclass(frozen=True)
class FileHandle:
    """Names a file of the app's: {"$file": id, "name", "type", "size"} in JSON. As a parameter it is what the caller has passed, as a field
    of what a function returns a file that the caller may read."""

    id: str
    name: str = ""
    media_type: str = ""
    size: int = 0  # bytes


def handle_of(answer: Any) -> FileHandle:
    """The handle in the app's answer."""
    f = answer.file
    return FileHandle(f.file, f.name, f.media_type, f.size)


class _Reading(io.RawIOBase):
    """Reads a file of the app's by questions to it."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        self._ask, self.handle, self._at = ask, handle, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.handle.size}[whence]
        if base + offset < 0:
            raise ValueError(f"{base + offset} is before the file's begin")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._piece(min(len(view), MAX_PIECE))
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self._piece(MAX_PIECE), b""))

    def _piece(self, length: int) -> bytes:
        data: bytes = self._ask.read_file(self.handle.id, self._at, length).result().data
        self._at += len(data)
        return data


class File(io.BufferedReader):
    """A file that is read: a binary stream as open(path, "rb") returns it."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        super().__init__(_Reading(ask, handle), _BUFFER)
        self.handle = handle

    @property
    def size(self) -> int:
        """In bytes."""
        return self.handle.size

    @property
    def media_type(self) -> str:
        return self.handle.media_type


class _Writing(io.RawIOBase):
    """Writes a file of the app's by questions to it."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        self._ask, self.handle = ask, handle

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(memoryview(data).cast("B")[:MAX_PIECE])
        self._ask.write_file(self.handle.id, piece).result()
        return len(piece)


class NewFile(io.BufferedWriter):
    """A file that is written: a binary stream as open(path, "wb") returns it. Once it is closed, handle names it for
    what a function returns. One that is not closed, or whose with block ends in an exception, is dropped."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        super().__init__(_Writing(ask, handle), _BUFFER)
        self._ask, self._begun = ask, handle
        self._handle: FileHandle | None = None

    @property
    def handle(self) -> FileHandle:
        """Names the file, once it is closed."""
        if self._handle is None:
            raise ValueError("the file is not closed yet")
        return self._handle

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        self._handle = handle_of(self._ask.close_file(self._begun.id).result())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.detach()

    def __del__(self) -> None:
        """Drops the file: what the garbage collector finds was not closed on purpose."""


class AsyncFile:
    """A file that an async function reads: `async for piece in file`, or `await file.read(n)`."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        self._ask, self.handle, self._at = ask, handle, 0

    def seek(self, offset: int) -> None:
        """Has the next read begin at an offset from the file's begin."""
        self._at = offset

    async def read(self, n: int = -1) -> bytes:
        """Reads n bytes, or fewer at the end of the file; all that is left where n is negative."""
        pieces: list[bytes] = []
        left = n
        while left:
            length = MAX_PIECE if n < 0 else min(left, MAX_PIECE)
            data = (await self._ask.wait(self._ask.read_file, self.handle.id, self._at, length)).data
            self._at += len(data)
            left -= len(data)
            pieces.append(data)
            if len(data) < length:
                break
        return b"".join(pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self.read(MAX_PIECE):
            yield data


class AsyncNewFile:
    """A file that an async function writes. Once it is closed, handle names it."""

    def __init__(self, ask: Asking, handle: FileHandle) -> None:
        self._ask, self._begun = ask, handle
        self._handle: FileHandle | None = None

    @property
    def handle(self) -> FileHandle:
        """Names the file, once it is closed."""
        if self._handle is None:
            raise ValueError("the file is not closed yet")
        return self._handle

    async def write(self, data: bytes) -> None:
        """Appends all of the data."""
        for at in range(0, len(data), MAX_PIECE):
            await self._ask.wait(self._ask.write_file, self._begun.id, data[at : at + MAX_PIECE])

    async def close(self) -> FileHandle:
        """Ends the file."""
        if self._handle is None:
            self._handle = handle_of(await self._ask.wait(self._ask.close_file, self._begun.id))
        return self._handle

    async def __aenter__(self) -> AsyncNewFile:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()
