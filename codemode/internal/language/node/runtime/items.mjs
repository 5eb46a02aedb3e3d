// What each() returns: an iterator with the methods that iterators have from Node 22 on, whatever the version.

/** Items goes through rows; what a method makes of them is gone through when it is asked for. */
export class Items {
  #source;

  constructor(source) {
    this.#source = source;
  }

  next() {
    return this.#source.next();
  }

  return(value) {
    return this.#source.return(value);
  }

  map(f) {
    return this.#made("map", f, function* (items) {
      let i = 0;
      for (const item of items) yield f(item, i++);
    });
  }

  filter(f) {
    return this.#made("filter", f, function* (items) {
      let i = 0;
      for (const item of items) if (f(item, i++)) yield item;
    });
  }

  flatMap(f) {
    return this.#made("flatMap", f, function* (items) {
      let i = 0;
      for (const item of items) {
        const inner = f(item, i++);
        if (Object(inner) !== inner) throw new TypeError(`not an iterable: ${typeof inner}`);
        yield* inner;
      }
    });
  }

  take(n) {
    let left = count(n, "take");
    const source = this.#source;
    return new Items((function* () {
      if (left === 0) source.return();
      else for (const item of source) {
        yield item;
        if (--left === 0) return;
      }
    })());
  }

  drop(n) {
    let left = count(n, "drop");
    const source = this.#source;
    return new Items((function* () {
      for (const item of source) if (left > 0) left--;
      else yield item;
    })());
  }

  reduce(f, ...start) {
    needs(f, "reduce");
    let [sum] = start;
    let any = start.length > 0;
    let i = 0;
    for (const item of this) {
      sum = any ? f(sum, item, i) : item;
      any = true;
      i++;
    }
    if (!any) throw new TypeError("reduce of an empty iterator without an initial value");
    return sum;
  }

  toArray() {
    return [...this];
  }

  forEach(f) {
    needs(f, "forEach");
    let i = 0;
    for (const item of this) f(item, i++);
  }

  some(f) {
    return this.#first("some", f, Boolean).found;
  }

  every(f) {
    return !this.#first("every", f, (v) => !v).found;
  }

  find(f) {
    return this.#first("find", f, Boolean).item;
  }

  #made(name, f, generator) {
    needs(f, name);
    return new Items(generator(this.#source));
  }

  /** #first returns the first item of whose result ends() is true, and whether there is one. */
  #first(name, f, ends) {
    needs(f, name);
    let i = 0;
    for (const item of this) if (ends(f(item, i++))) return { found: true, item };
    return { found: false };
  }
}

// The language's own prototype makes it iterable, and an Iterator where there is that class.
Object.setPrototypeOf(Items.prototype, Object.getPrototypeOf(Object.getPrototypeOf([].values())));

function needs(f, who) {
  if (typeof f !== "function") throw new TypeError(`${who} needs a function`);
}

function count(n, who) {
  const number = Math.trunc(Number(n));
  if (!(number >= 0)) throw new RangeError(`${who} needs a number that is not negative`);
  return number;
}
