"""Looks foods up by their barcodes, at a server with the interface of Open Food Facts."""

from __future__ import annotations

import hashlib
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from koan_plugin import Call, Code, Fault, Field, Plugin, Setting

_FIELDS = (
    "code,product_name,brands,quantity,product_quantity,product_quantity_unit,categories_tags,allergens_tags,nutriments"
)
_MOST = 4 << 20  # bytes of an answer


@dataclass
class Settings:
    server: Annotated[
        str, Setting("Where foods are looked up; it has to be in `hosts`, too.")
    ] = "https://world.openfoodfacts.org"
    cache_hours: Annotated[int, Setting("How long an answer is kept.")] = 24
    contact: Annotated[str, Setting("How the server's operators reach you, as they ask for.")] = "nobody@localhost"


plugin = Plugin(
    "foods",
    version="1.0.0",
    description="Looks foods up by barcode and by name, at a server with the interface of Open Food Facts.",
    settings=Settings,
    keeps_state=True,
)


@plugin.configure
def configure(settings: Settings) -> None:
    parts = urllib.parse.urlsplit(settings.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"server: {settings.server!r} is no URL such as https://world.openfoodfacts.org")


@dataclass
class Nutrition:
    """Of 100 g or 100 ml."""

    kcal: float | None
    protein: float | None
    fat: float | None
    carbohydrates: float | None
    salt: float | None


@dataclass
class Food:
    barcode: str
    name: str
    brand: str
    amount: float | None
    unit: str | None
    categories: list[str]
    allergens: list[str]
    nutrition: Nutrition
    source: str


@dataclass
class Found:
    foods: list[Food]
    total: int


@plugin.function(read_only=True, timeout=20)
def lookup(call: Call, barcode: Annotated[str, Field("EAN-13, EAN-8 or UPC-A.", pattern=r"^[0-9]{8,14}$")]) -> Food:
    """Look up the food with a barcode."""
    if not _checks(barcode):
        raise Fault(Code.INVALID_PAYLOAD, f"the check digit of {barcode} is wrong", path="/barcode")
    answer = _get(call, f"/api/v2/product/{barcode}.json", {"fields": _FIELDS})
    product = answer.get("product")
    if answer.get("status") != 1 or not isinstance(product, dict):
        raise Fault(
            Code.NOT_FOUND, f"nobody has told {_host()} what {barcode} is", hint="Ask the person.", path="/barcode"
        )
    return _food(product)


@plugin.function(read_only=True, timeout=20)
def search(
    call: Call,
    text: Annotated[str, Field("Words of its name.", min_length=2, max_length=100)],
    limit: Annotated[int, Field(minimum=1, maximum=50)] = 10,
) -> Found:
    """Search foods by name."""
    query = {"search_terms": text, "json": "1", "page_size": str(limit), "fields": _FIELDS}
    answer = _get(call, "/cgi/search.pl", query)
    products = answer.get("products")
    foods = [_food(each) for each in products if isinstance(each, dict)] if isinstance(products, list) else []
    total = answer.get("count")
    return Found(foods[:limit], total if isinstance(total, int) else len(foods))


def _checks(barcode: str) -> bool:
    digits = [int(d) for d in reversed(barcode)]
    return (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0


def _host() -> str:
    return urllib.parse.urlsplit(plugin.settings.server).netloc


def _get(call: Call, path: str, query: dict[str, str]) -> dict[str, Any]:
    """What the server answers, or has answered not long ago."""
    url = plugin.settings.server.rstrip("/") + path + "?" + urllib.parse.urlencode(query)
    kept = None
    if call.state_dir is not None:
        kept = call.state_dir / (hashlib.sha256(url.encode()).hexdigest() + ".json")
    if kept is not None and _is_fresh(kept):
        return _parsed(kept.read_bytes())
    raw = _fetch(call, url)
    answer = _parsed(raw)
    if kept is not None:
        draft = kept.with_suffix(f".{call.id}")  # two calls may keep the same
        draft.write_bytes(raw)
        draft.rename(kept)
    return answer


def _is_fresh(kept: Path) -> bool:
    try:
        return time.time() - kept.stat().st_mtime < plugin.settings.cache_hours * 3600
    except FileNotFoundError:
        return False


def _fetch(call: Call, url: str) -> bytes:
    agent = f"koan-foods/{plugin.version} ({plugin.settings.contact})"
    request = urllib.request.Request(url, headers={"User-Agent": agent, "Accept": "application/json"})
    began = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=min(call.remaining or 15, 15)) as answer:
            raw: bytes = answer.read(_MOST + 1)
    except urllib.error.HTTPError as error:
        with error:
            _refuse(call, error)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        call.log.warning("the server cannot be reached", url=url, error=str(error))
        hint = (
            f"Without plugins.foods.hosts a confined plugin reaches nothing: it has to have {_host()}, with its port."
        )
        raise Fault(Code.SERVICE_UNAVAILABLE, f"{_host()} cannot be reached", hint=hint) from None
    call.log.debug("asked", url=url, ms=round(1000 * (time.monotonic() - began)))
    if len(raw) > _MOST:
        raise Fault(Code.UPSTREAM_ERROR, f"the answer of {_host()} has more than {_MOST} bytes")
    return raw


def _refuse(call: Call, error: urllib.error.HTTPError) -> None:
    words = error.read(500).decode("utf-8", "replace").strip()
    call.log.warning("the server has refused", url=error.url, status=error.code, words=words)
    if error.code == 404:
        raise Fault(Code.NOT_FOUND, f"{_host()} knows no such food", hint="Ask the person.") from None
    if error.code == 429:
        raise Fault(Code.RATE_LIMITED, f"{_host()} was asked too often") from None
    if error.code == 403 and "plugins.foods.hosts" in words:
        raise Fault(Code.SERVICE_UNAVAILABLE, f"the app's operator has not allowed {_host()}", hint=words) from None
    raise Fault(Code.UPSTREAM_ERROR, f"{_host()} has answered with the status {error.code}") from None


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(raw)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Fault(Code.UPSTREAM_ERROR, f"{_host()} has answered with something that is not a JSON object")
    return answer


def _food(product: dict[str, Any]) -> Food:
    """A product of the server's, whose fields are there or not, and what anybody has typed."""
    code = _text(product.get("code"))
    amount = _number(product.get("product_quantity"))
    unit = _text(product.get("product_quantity_unit")) or None
    if amount is None:
        amount, unit = _quantity(_text(product.get("quantity")))
    n = product.get("nutriments")
    per = n if isinstance(n, dict) else {}
    names = ("energy-kcal", "proteins", "fat", "carbohydrates", "salt")
    return Food(
        barcode=code,
        name=_text(product.get("product_name")),
        brand=_text(product.get("brands")).split(",")[0].strip(),
        amount=amount,
        unit=unit,
        categories=_tags(product.get("categories_tags")),
        allergens=_tags(product.get("allergens_tags")),
        nutrition=Nutrition(*(_number(per.get(name + "_100g")) for name in names)),
        source=f"{plugin.settings.server.rstrip('/')}/product/{code}",
    )


def _text(value: Any) -> str:
    return value.strip()[:200] if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < 1e9 else None


def _tags(value: Any) -> list[str]:
    tags = value if isinstance(value, list) else []
    return [tag.partition(":")[2] or tag for tag in map(_text, tags) if tag][:30]


def _quantity(text: str) -> tuple[float | None, str | None]:
    """The amount and unit of a text: "6 x 33 cl", "1,5 kg"."""
    found = re.match(r"(?:(\d+)\s*[x×]\s*)?(\d+(?:[.,]\d+)?)\s*(kg|g|mg|l|dl|cl|ml)\b", text, re.IGNORECASE)
    if not found:
        return None, None
    times, number, unit = found.groups()
    amount = float(number.replace(",", ".")) * int(times or 1)
    to, factor = {
        "kg": ("g", 1000.0),
        "mg": ("g", 0.001),
        "l": ("ml", 1000.0),
        "dl": ("ml", 100.0),
        "cl": ("ml", 10.0),
    }.get(unit.lower(), (unit.lower(), 1.0))
    return round(amount * factor, 6), to


if __name__ == "__main__":
    plugin.serve()
