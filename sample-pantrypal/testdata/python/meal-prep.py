"""One recipe cooked at once for several days."""

from datetime import date, timedelta

action = {
    "title": "Cook ahead",
    "description": "Plans to cook one recipe ahead for several meals: one big pot on the first day, portions for the days after. Says what to buy and whom it does not suit.",
    "input": {
        "type": "object",
        "properties": {
            "recipe": {"type": "string", "maxLength": 120, "pattern": "\\S", "description": "Id or name; without it, the batch recipe that needs the least shopping."},
            "meals": {"type": "integer", "minimum": 2, "maximum": 14, "default": 4, "description": "How many meals, the first on the day of cooking."},
            "servings": {"type": "number", "exclusiveMinimum": 0, "maximum": 100, "description": "Of each meal; without it, those of the household."},
            "start": {"type": "string", "format": "date", "description": "Without it, today."},
            "meal": {"enum": ["breakfast", "lunch", "dinner", "snack"], "default": "lunch"},
            "anyway": {"type": "boolean", "default": False, "description": "Though somebody is allergic."},
        },
        "additionalProperties": False,
    },
    "output": {"type": "object", "required": ["mealId", "recipeId", "name", "servings", "toBuy", "portions"]},
    "effects": {},
    "examples": [{"meals": 3}],
}

FRIDGE = 3  # days that cooked food keeps in the fridge
MOST = 100  # portions of a planned meal


def refuse(path, message, hint):
    error = ValueError(message)
    error.path, error.hint = path, hint
    raise error


def run(input):
    stow = SDK.Actions.stow(foodIds=[])
    start, meals = input.get("start", stow.today), input.get("meals", 4)
    each = input.get("servings", stow.portions)
    servings = each * meals
    if start < stow.today:
        refuse("/start", f"{start} is before today, {stow.today}.", "Send today or a later day.")
    if servings > MOST:
        refuse("/servings", f"{meals} meals of {each} portions are {servings}, more than the {MOST} that one meal is planned for.", "Send fewer servings or meals.")
    wanted = input.get("recipe")
    candidates = [SDK.Entities.Recipe.get_by_id(meant(wanted))] if wanted else SDK.Entities.Recipe.all(filter={"tags": {"$has": "batch"}})
    if not candidates:
        refuse("/recipe", "No recipe is marked as worth cooking in a batch.", "Send a recipe, or give one of your own the tag batch.")
    cover = SDK.Actions.cover_meals(meals=[{"key": r.id, "recipeId": r.id, "servings": servings, "date": start} for r in candidates])
    best = min((m for m in cover.meals if wanted or not m.conflicts), key=lambda m: (len(m.missing) / m.needed, m.name), default=None)
    if best is None:
        refuse("/recipe", "No batch recipe suits everybody.", "Send the recipe to cook.")
    if best.allergies and not input.get("anyway", False):
        refuse("/recipe", f"{best.name} does not suit everybody: {'; '.join(best.allergies)}.", "Send another recipe, or anyway: true.")
    freezes = "freezer" in (next(r for r in candidates if r.id == best.recipeId).tags or [])
    if not freezes and meals - 1 > FRIDGE:
        refuse("/meals", f"{best.name} keeps {FRIDGE} days in the fridge and does not freeze well.", f"Plan at most {FRIDGE + 1} meals of it.")
    row = SDK.Entities.PlannedMeal.upsert(
        {
            "recipeId": best.recipeId,
            "date": start,
            "mealType": input.get("meal", "lunch"),
            "servings": servings,
            "forLater": servings - each,
            "notes": f"Cooked ahead for {meals} meals of {each} portions.",
        }
    )
    first = date.fromisoformat(start)
    return {
        "mealId": row.id,
        "recipeId": best.recipeId,
        "name": best.name,
        "date": start,
        "servings": servings,
        "toBuy": [line.say for line in best.missing],
        "conflicts": best.conflicts,
        "portions": [{"date": first + timedelta(days=i), "place": "table" if i == 0 else "freezer" if i > FRIDGE else "fridge", "servings": each} for i in range(meals)],
    }


def meant(recipe):
    """The recipe that an id or name means."""
    found = SDK.Actions.find_recipe(recipe=recipe)
    if not found.recipeId:
        refuse("/recipe", found.problem, found.hint)
    return found.recipeId
