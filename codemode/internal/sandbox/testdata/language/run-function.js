// => ["1","2","3","4","5"]
async function run() {
  const { items } = SDK.Entities.Todo.collection({ pageSize: 50 });
  return items.map(({ id }) => id);
}
