"""What was thrown away, and what that cost."""

from collections import defaultdict

action = {
    "title": "What was wasted",
    "description": "What was wasted or expired, by month and by aisle, with its cost, and which foods most often.",
    "input": {
        "type": "object",
        "properties": {"months": {"type": "integer", "minimum": 1, "maximum": 60, "default": 12, "description": "How many months, this one included."}},
        "additionalProperties": False,
    },
    "output": {"type": "object", "required": ["since", "total", "months", "aisles", "foods"]},
    "effects": {"readOnly": True},
    "examples": [{}],
}


class Sum:
    def __init__(self):
        self.times, self.cents, self.without_price = 0, 0, 0

    def add(self, cost):
        self.times += 1
        if cost is None:
            self.without_price += 1
        else:
            self.cents += round(cost * 100)

    def shown(self):
        return {"times": self.times, "cost": self.cents / 100, "withoutPrice": self.without_price}


def ranked(sums):
    rows = [{"name": name, **s.shown()} for name, s in sums.items()]
    return sorted(rows, key=lambda row: (-row["cost"], -row["times"], row["name"]))


def run(input):
    today = SDK.Actions.stow(foodIds=[]).today
    year, month = map(int, today.split("-")[:2])
    first = year * 12 + month - input.get("months", 12)
    since = f"{first // 12:04}-{first % 12 + 1:02}-01"
    events = SDK.Entities.PantryEvent.all(filter={"kind": "went", "reason": {"$in": ["wasted", "expired"]}, "at": {"$gte": since + "T00:00:00+14:00"}}, sort="at,id", with_="food")
    days = SDK.Actions.local_days(times=[e.at for e in events]).days  # the household's
    total, months, aisles, foods = Sum(), defaultdict(lambda: (Sum(), defaultdict(Sum))), defaultdict(Sum), defaultdict(Sum)
    for event, day in zip(events, days):
        if day < since:
            continue
        aisle, name = (event.food.aisle, event.food.name) if event.food else ("other", event.itemName)
        of_month, by_aisle = months[day[:7]]
        for s in (total, of_month, by_aisle[aisle], aisles[aisle], foods[name]):
            s.add(event.cost)
    return {
        "since": since,
        "total": total.shown(),
        "months": [{"month": m, "sum": s.shown(), "aisles": ranked(by_aisle)} for m, (s, by_aisle) in months.items()],
        "aisles": ranked(aisles),
        "foods": ranked(foods)[:20],
    }
