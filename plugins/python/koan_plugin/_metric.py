"""What a plugin measures."""

from __future__ import annotations

import dataclasses
import math
import re

from . import _wire

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_ENDS = ("_total", "_bucket", "_sum", "_count", "_created", "_info")  # which Prometheus gives to names itself


@dataclasses.dataclass(frozen=True)
class Metric:
    """Something that a plugin counts or measures, which the app exports as koan.plugin.<domain>.<name>.

    name is in snake_case, with the unit at its end: "cache_hits", "wait_seconds". The values of a histogram are
    spread over buckets; those of other metrics add up."""

    name: str
    help: str = ""
    histogram: bool = False

    def check(self) -> None:
        """Raises ValueError with what is wrong with it."""
        if not _NAME.fullmatch(self.name) or len(self.name) > 64 or self.name.endswith(_ENDS):
            raise ValueError(f"the metric {self.name!r} is not in snake_case, or ends as Prometheus ends names itself")

    def takes(self, value: float) -> bool:
        """Whether a value is one of the metric's."""
        return math.isfinite(value) and (self.histogram or value >= 0)


def by_name(metrics: tuple[Metric, ...]) -> dict[str, Metric]:
    """The metrics of a plugin. Raises ValueError with what is wrong with them."""
    if len(metrics) > _wire.MAX_METRICS:
        raise ValueError(f"it has {len(metrics)} metrics; {_wire.MAX_METRICS} are allowed")
    out: dict[str, Metric] = {}
    for metric in metrics:
        metric.check()
        if metric.name in out:
            raise ValueError(f"the metric {metric.name} is declared twice")
        out[metric.name] = metric
    return out
