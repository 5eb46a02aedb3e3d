"""The messages of plugin.proto, made when the module is imported.

They are built from the descriptor of the file, through functions that protobuf documents, and not
from generated code: that of protoc is bound to a range of versions of protobuf, of which none covers
both Debian's 3.21 and what the package index has today.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

CONTRACT_VERSION = 1
SERVICE = "koan.plugin.v1.Plugin"
MAGIC_COOKIE = ("KOAN_PLUGIN", "koan.plugin.v1")

# Bounds of the contract, in bytes.
MAX_OUTPUT = 4 << 20
MAX_INPUT = 24 << 20
MAX_MESSAGE = MAX_INPUT + (1 << 16)
MAX_MANIFEST = 1 << 20
MAX_SCHEMA = 256 << 10
MAX_PIECE = 1 << 20
PART = 30 << 10

MAX_FUNCTIONS = 1000
MAX_NEEDS = 100
MAX_METRICS = 50
MAX_QUESTIONS = 16  # that may be open at a time

# A pool of its own, so that another package may have the same file.
_pool = descriptor_pool.DescriptorPool()


def _load(raw: bytes) -> None:
    for file in descriptor_pb2.FileDescriptorSet.FromString(raw).file:
        _pool.Add(file)


_load(resources.files(__package__).joinpath("plugin.binpb").read_bytes())


def _message(name: str) -> Any:
    descriptor = _pool.FindMessageTypeByName("koan.plugin.v1." + name)
    if hasattr(message_factory, "GetMessageClass"):  # since 4.22
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_pool).GetPrototype(descriptor)


Answer: Any = _message("Answer")
CallEvent: Any = _message("CallEvent")
CallRequest: Any = _message("CallRequest")
ConfigureRequest: Any = _message("ConfigureRequest")
ConfigureResponse: Any = _message("ConfigureResponse")
DescribeRequest: Any = _message("DescribeRequest")
HostMessage: Any = _message("HostMessage")
Manifest: Any = _message("Manifest")
Question: Any = _message("Question")


def serving(_: bytes, __: Any) -> bytes:
    """Answers grpc.health.v1.Health/Check: HealthCheckResponse{status: SERVING}."""
    return b"\x08\x01"
