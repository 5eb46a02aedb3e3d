// => "Milk"
async () => {
  const { todo_get_by_id } = await import("@codemode/servers/koan");
  const todo = await todo_get_by_id({ id: "1" });
  return todo.title;
}
