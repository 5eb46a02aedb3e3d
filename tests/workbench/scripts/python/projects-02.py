# Add a new task to the {board} backlog called {task_name} and assign it to {name}. It's due on
# {natural_language_due_date}.
from datetime import datetime, timezone

args = SDK.args
today = datetime.now(timezone.utc).date()


def next_day(text):
    """Return the next day that a text such as "December 4" will be; it may be today."""
    years = (datetime.strptime(f"{text} {year}", "%B %d %Y").date() for year in (today.year, today.year + 1))
    return next(day for day in years if day >= today)


def employee_called(name):
    """Return the address of an employee by first name, None where there is none."""
    found = SDK.Entities.Employee.all(filter={"email": {"$startsWith": name.lower() + "."}})
    return found[0].email if len(found) == 1 else None


assignee = employee_called(args.name)
if assignee is None:
    return SDK.Out.answer(f"Nobody here is called {args.name}.")
SDK.Entities.Task.upsert({
    "name": args.task_name,
    "assignedToEmail": assignee,
    "listName": "Backlog",
    "dueDate": next_day(args.natural_language_due_date),
    "board": args.board.capitalize(),
})
