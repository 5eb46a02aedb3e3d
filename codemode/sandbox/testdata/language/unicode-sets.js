// => [["b","c"],true,true]
["abcd".match(/[[a-c]--[a]]/gv), /^[\p{L}&&\p{ASCII}]+$/v.test("abc"), /^\p{L}$/v.test("é")];
