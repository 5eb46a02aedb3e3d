// => ["Ada (36)",{"kind":"circle"},6,1]
abstract class Person {
  constructor(protected readonly name: string, private age = 36) {}
  abstract greet(): string;
  describe(): string { return `${this.name} (${this.age})`; }
}
class Engineer extends Person { override greet() { return "hi"; } }
type Shape = { kind: "circle" } | { kind: "square"; side: number };
const shape: Shape = { kind: "circle" };
namespace Maths { export const triple = (n: number): number => n * 3; }
enum Level { Low, High }
[new Engineer("Ada").describe(), shape, Maths.triple(2), Level.High];
