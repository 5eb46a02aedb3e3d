"""What scripts import: `koan.errors`, and SDK, which they have without that too."""

from .errors import KoanError

__all__ = ["KoanError"]
