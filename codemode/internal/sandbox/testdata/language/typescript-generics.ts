// => {"a":[1,3],"b":[2]}
const groupBy = <T, K extends string>(list: T[], key: (item: T) => K): Record<K, T[]> =>
  list.reduce((acc, item) => { (acc[key(item)] ??= []).push(item); return acc; }, {} as Record<K, T[]>);
groupBy([1, 2, 3], (n) => (n % 2 ? "a" : "b"));
