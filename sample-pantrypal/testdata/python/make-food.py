"""A food that the catalogue does not have becomes one of the household's own."""

action = {
    "title": "Make a food",
    "description": "Makes a food of the household's own, or a thing such as toilet paper, of a name that the catalogue does not have. What is not sent is guessed from a similar food, and the answer says so.",
    "input": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 120, "pattern": "\\S"},
            "names": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 120, "pattern": "\\S"}, "description": "Other names for it."},
            "like": {"type": "string", "maxLength": 120, "pattern": "\\S", "description": "Id or name of a similar food; without it, the one with the most similar name."},
            "thing": {"type": "boolean", "default": False, "description": "No food: it is bought and kept, and never cooked."},
            "aisle": {"type": "string", "minLength": 1, "maxLength": 40},
            "unit": {"type": "string", "description": "In what it is counted as a rule."},
            "allergens": {"type": "array", "items": {"type": "string"}, "description": "All that it contains; none: []."},
            "diet": {"enum": ["vegan", "vegetarian", "pescatarian", "none"], "description": "The strictest that it suits."},
            "pantryDays": {"type": "integer", "minimum": 0, "maximum": 5000, "description": "How many days it keeps there."},
            "fridgeDays": {"type": "integer", "minimum": 0, "maximum": 5000},
            "freezerDays": {"type": "integer", "minimum": 0, "maximum": 5000},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
    "output": {"type": "object", "required": ["foodId", "name", "made", "aisle", "guessed", "like", "said"]},
    "effects": {},
    "examples": [{"name": "Oat cuisine", "like": "Cream"}],
}

DIETS = ["vegan", "vegetarian", "pescatarian"]
WORDS = {"shelfLife": "how long it keeps", "diets": "whom it suits"}
SHELVES = {"shelfLifePantry": "pantryDays", "shelfLifeFridge": "fridgeDays", "shelfLifeFreezer": "freezerDays"}


def run(input):
    name = input.name.strip()
    title, like = name[:1].upper() + name[1:], input.get("like")
    found = SDK.Actions.find_food(names=[title, *([like] if like else [])]).found[0]
    there = found.food and SDK.Entities.Food.get_by_id(found.food.id)
    if there and SDK.Actions.match_names(name=title, among=[there.name, *(there.aliases or []), *(there.ownNames or [])]).same:
        return {
            "foodId": there.id,
            "name": there.name,
            "made": False,
            "aisle": there.aisle,
            "guessed": there.guessed or [],
            "like": None,
            "said": f"{there.name} is a food already, and nothing was made.",
        }
    model = {"name": title, "thing": input.get("thing", False)}
    model |= {key: input[key] for key in ("aisle", "unit", "allergens") if key in input}
    if "names" in input:
        model["aliases"] = input["names"]
    if like:
        model["like"] = id_of(like)
    if "diet" in input:
        model["diets"] = [] if input.diet == "none" else DIETS[DIETS.index(input.diet) :]
    if any(days in input for days in SHELVES.values()):
        model |= {field: input.get(days) for field, days in SHELVES.items()}
    food = SDK.Entities.Food.upsert(model)
    similar = SDK.Entities.Food.get_by_id(food.like).name if food.like else None
    guessed = food.guessed or []
    said = f"{food.name} is a {'thing' if food.thing else 'food'} of the household now, in the aisle {food.aisle}"
    if guessed:
        said += f"; {'guessed from ' + similar if similar else 'not known yet'}: {', '.join(WORDS.get(g, g) for g in guessed)}"
    return {"foodId": food.id, "name": food.name, "made": True, "aisle": food.aisle, "guessed": guessed, "like": similar if guessed else None, "said": said + "."}


def id_of(like):
    """The id of a food by its id or name."""
    if SDK.Entities.Food.find_by_id(like):
        return like
    found = SDK.Actions.find_food(names=[like]).found[0]
    if not found.food:
        error = ValueError(f'There is no food "{like}" that it could be like.')
        error.path = "/like"
        error.hint = f"Did you mean {', '.join(c.name for c in found.candidates)}?" if found.candidates else "Leave like out."
        raise error
    return found.food.id
