// => ["call add",3]
const calls: string[] = [];
function logged(fn: any, context: ClassMethodDecoratorContext) {
  return function (this: any, ...args: any[]) { calls.push("call " + String(context.name)); return fn.apply(this, args); };
}
class Sum { @logged add(a: number, b: number) { return a + b; } }
const total = new Sum().add(1, 2);
[calls[0], total];
