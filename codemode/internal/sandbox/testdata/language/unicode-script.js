// => [true,false,true,["α","β"]]
[/^\p{Script=Greek}+$/u.test("αβγ"), /\p{Script=Cyrillic}/u.test("abc"), /\p{sc=Han}/u.test("漢"), "aαbβ".match(/\p{Script=Greek}/gu)];
