// Rows, inputs and filters have members of any name: constructor, toString and __proto__ are fields like
// others. What an object has of a name is asked for here, since JavaScript answers for its prototype, too.

// own is the member of an object with a name, undefined where it has none itself.
export const own = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

export const has = (object, name) => own(object, name) !== undefined;

// without is an object less the member with a name.
export const without = (object, name) => Object.fromEntries(Object.entries(object).filter(([k]) => k !== name));
