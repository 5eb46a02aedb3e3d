"""The interpreter's side of Python scripts: a confined process that runs the scripts of one caller.

What belongs here: the frames to and from the host, SDK, and how a script is compiled, run and answered for.
Not here: the meaning of calls, which is the host's; anything that has to be trusted once a script has begun.
"""

import builtins
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

# What the modules of this package take for the built-in names: a script that replaces one in `builtins` replaces its own.
_builtins = dict(vars(builtins))


class _Loader(SourceFileLoader):
    """Loads a module that has built-in names of its own."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = _builtins
        super().exec_module(module)


class _Finder:
    """Finds the modules of this package."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.startswith(__name__ + "."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder)
