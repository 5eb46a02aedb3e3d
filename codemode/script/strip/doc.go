// Package strip makes JavaScript of TypeScript by taking text out: types, and the
// statements that make a script a module. What stays keeps its line and nearly
// always its column, and the work is a small part of what a whole compiler costs in
// a process that has just begun.
//
// It knows the language that scripts are written in and says no to everything
// else: namespaces, decorators, parameter properties, old assertions (`<T>x`),
// computed enums, and each text that means one thing to one reader and another to
// the next. Whoever calls it has the whole compiler for those. So what it takes
// means exactly what the compiler would make of it; what it refuses costs time only.
//
// What belongs here: reading source text, what to leave out, where what stays came
// from. What must never: names that exist or do not (modules, exports), messages for
// people, running anything.
package strip
