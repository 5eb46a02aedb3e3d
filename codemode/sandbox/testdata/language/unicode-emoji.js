// => ["Hi !",2,true]
const text = "Hi 😀❤!";
[text.replace(/\p{Extended_Pictographic}/gu, ""), [...text.matchAll(/\p{Extended_Pictographic}/gu)].length, /\p{Emoji_Presentation}/u.test("😀")];
