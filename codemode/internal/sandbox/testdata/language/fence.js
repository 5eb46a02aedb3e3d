```javascript
// => 7
const { a, b } = { a: 3, b: 4 };
return a + b;
```
