// => [3,"Point(1, 2)",true,"static",[1,2]]
class Point {
  static #made = 0;
  static kind;
  static { Point.kind = "static"; }
  #x; #y;
  constructor(x, y) { this.#x = x; this.#y = y; Point.#made++; }
  get sum() { return this.#x + this.#y; }
  static is(o) { return #x in o; }
  *[Symbol.iterator]() { yield this.#x; yield this.#y; }
  toString() { return `Point(${this.#x}, ${this.#y})`; }
}
const p = new Point(1, 2);
[p.sum, String(p), Point.is(p), Point.kind, [...p]];
