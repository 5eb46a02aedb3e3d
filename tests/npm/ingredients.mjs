// What the package parse-ingredient makes of lines of recipes: an oracle for PantryPal's
// own reading.
//
// Standard input: a list of lines; a comma within a number is a decimal comma. Standard
// output: for each {amount, most, unit, name}.
import { readFileSync } from "node:fs";
import { parseIngredient } from "parse-ingredient";

function read(line) {
  const [first] = parseIngredient(line, { decimalSeparator: /\d,\d/.test(line) ? "," : "." });
  return { amount: first.quantity, most: first.quantity2, unit: first.unitOfMeasureID, name: first.description };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
