// Move all customers that haven't responded to a proposal for the {natural_language_product_interest} product
// in {weeks} weeks to lost in the crm
const { Customer } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

const lastContactDate = { $lt: day(today - Number(args.weeks) * 7 * DAY) };
const productInterest = capital(args.natural_language_product_interest);
SDK.Out.answer(Customer.updateByQuery({ status: "Proposal", productInterest, lastContactDate }, { status: "Lost" }));
