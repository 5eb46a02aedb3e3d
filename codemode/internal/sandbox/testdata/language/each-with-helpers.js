// => ["2","3"]
SDK.Entities.Todo.each().map((t) => t.id).drop(1).take(2).toArray();
