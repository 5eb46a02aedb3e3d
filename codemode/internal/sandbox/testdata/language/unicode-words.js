// => ["naïve","café","Straße"]
"naïve café, Straße 42".match(/\p{L}+/gu);
