// => ["StockError: 3 left",3,true]
class StockError extends Error {
  constructor(left, options) { super(`${left} left`, options); this.name = "StockError"; this.left = left; }
}
let caught;
try { throw new StockError(3); } catch (err) { caught = [String(err), err.left, err instanceof Error]; }
caught;
