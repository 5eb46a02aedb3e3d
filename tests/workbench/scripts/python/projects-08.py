# Take {name_1}'s most urgent task and reassign it to {name_2}.
args = SDK.args


def employee_called(name):
    """Return the address of an employee by first name, None where there is none."""
    found = SDK.Entities.Employee.all(filter={"email": {"$startsWith": name.lower() + "."}})
    return found[0].email if len(found) == 1 else None


source, target = employee_called(args.name_1), employee_called(args.name_2)
if source is None or target is None:
    return SDK.Out.answer("One of them does not work here.")
# What is in review is finished, as far as they are concerned. Of several that are due on one day, one that nobody
# has started comes first: "Backlog" sorts before "In Progress".
urgent = SDK.Entities.Task.first_page(1, filter={"assignedToEmail": source, "listName": {"$in": ["Backlog", "In Progress"]}}, sort="dueDate,listName").items
if not urgent:
    return SDK.Out.answer(f"{args.name_1} has nothing to do.")
SDK.Entities.Task.patch(urgent[0].id, {"assignedToEmail": target})
