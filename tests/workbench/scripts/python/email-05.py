# Forward all the emails from {name} last week about '{subject}' to {recipient_name}
from datetime import datetime, timedelta, timezone

args = SDK.args
today = datetime.now(timezone.utc).date()


def address_of(name):
    """Return the address of somebody by first name: an employee, else a customer. None where nobody, or more than one, has it."""
    filter = {"email": {"$startsWith": name.lower() + "."}}
    people = SDK.Entities.Employee.all(filter=filter) or SDK.Entities.Customer.all(filter=filter)
    return people[0].email if len(people) == 1 else None


address = address_of(args.recipient_name)
if address is None:
    return SDK.Out.answer(f"It is not clear who {args.recipient_name} is.")
# Last week is the one before this one; weeks begin on Monday.
monday = datetime(today.year, today.month, today.day, tzinfo=timezone.utc) - timedelta(days=today.weekday())
last_week = {"$gte": monday - timedelta(days=7), "$lt": monday}
theirs = {"box": "inbox", "address": address_of(args.name) or "", "subject": {"$icontains": args.subject}, "sentAt": last_week}
mails = SDK.Entities.Email.all(filter=theirs, sort="sentAt")
SDK.Entities.Email.upsert_many([{"box": "outbox", "address": address, "subject": "FW: " + mail.subject, "body": mail.body} for mail in mails])
SDK.Out.answer(len(mails))
