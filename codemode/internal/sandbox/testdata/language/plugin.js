// => ["milk.jpg",2]
const found = SDK.Vision.detect({ path: "milk.jpg", options: { max: 2 } });
SDK.Out.answer(`Found ${found.path}`);
[found.path, found.options.max];
