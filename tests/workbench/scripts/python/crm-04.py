# Reassign {current_customer_name} to {assigned_to_first_name} in the crm
args = SDK.args


def employee_called(name):
    """Return the address of an employee by first name, None where there is none."""
    found = SDK.Entities.Employee.all(filter={"email": {"$startsWith": name.lower() + "."}})
    return found[0].email if len(found) == 1 else None


assignee = employee_called(args.assigned_to_first_name)
if assignee is None:
    return SDK.Out.answer(f"Nobody here is called {args.assigned_to_first_name}.")
found = SDK.Entities.Customer.all(filter={"name": {"$ieq": args.current_customer_name}})
if len(found) != 1:
    return SDK.Out.answer(f"It is not clear who {args.current_customer_name} is.")
SDK.Entities.Customer.patch(found[0].id, {"assignedToEmail": assignee})
