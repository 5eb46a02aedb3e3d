# Forward the last email about '{subject}' to {recipient_name1} and {recipient_name2}
args = SDK.args


def address_of(name):
    """Return the address of somebody by first name: an employee, else a customer. None where nobody, or more than one, has it."""
    filter = {"email": {"$startsWith": name.lower() + "."}}
    people = SDK.Entities.Employee.all(filter=filter) or SDK.Entities.Customer.all(filter=filter)
    return people[0].email if len(people) == 1 else None


recipients = [address_of(name) for name in (args.recipient_name1, args.recipient_name2)]
if None in recipients:
    return SDK.Out.answer("It is not clear who one of them is.")
mails = SDK.Entities.Email.first_page(1, filter={"box": "inbox", "subject": {"$icontains": args.subject}}, sort="-sentAt").items
if not mails:
    return SDK.Out.answer("There is no such mail.")
mail = mails[0]
SDK.Entities.Email.upsert_many([{"box": "outbox", "address": address, "subject": "FW: " + mail.subject, "body": mail.body} for address in recipients])
