# Give {new_assigned_to_first_name} all of {assigned_to_first_name}'s customers that are interested in
# {natural_language_product_interest} and are either qualified or in proposal in the crm
args = SDK.args


def employee_called(name):
    """Return the address of an employee by first name, None where there is none."""
    found = SDK.Entities.Employee.all(filter={"email": {"$startsWith": name.lower() + "."}})
    return found[0].email if len(found) == 1 else None


source, target = employee_called(args.assigned_to_first_name), employee_called(args.new_assigned_to_first_name)
if source is None or target is None:
    return SDK.Out.answer("One of them does not work here.")
theirs = {"assignedToEmail": source, "status": {"$in": ["Qualified", "Proposal"]}, "productInterest": args.natural_language_product_interest.capitalize()}
SDK.Out.answer(SDK.Entities.Customer.update_by_query(theirs, {"assignedToEmail": target}))
