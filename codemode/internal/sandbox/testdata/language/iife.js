// => {"open":1}
(async () => {
  const todo = SDK.Entities.Todo.getById("1");
  return { open: todo.done ? 0 : 1 };
})();
