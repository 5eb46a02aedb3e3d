// => 5
async () => {
  const todos = SDK.Entities.Todo.all();
  console.log(`found ${todos.length}`);
  return todos.length;
}
