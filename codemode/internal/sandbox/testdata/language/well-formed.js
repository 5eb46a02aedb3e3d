// => [true,false,"a�"]
["ok".isWellFormed(), "a\ud800".isWellFormed(), "a\ud800".toWellFormed()];
