// => {"count":5}
export const label = "count";
export default async function main() {
  return { [label]: SDK.Entities.Todo.count() };
}
