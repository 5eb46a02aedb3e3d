// => ["not_found","KoanError"]
try {
  SDK.Entities.Todo.getById("99");
} catch ({ code, name }) {
  globalThis.result = [code, name];
}
