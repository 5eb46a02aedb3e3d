// => {"even":[2,4],"odd":[1,3]}
const groups = Object.groupBy([1, 2, 3, 4], (n) => (n % 2 ? "odd" : "even"));
({ even: groups.even, odd: groups.odd });
