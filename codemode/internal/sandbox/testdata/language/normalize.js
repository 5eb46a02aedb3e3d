// => ["Creme Brulee",1,2]
["Crème Brûlée".normalize("NFD").replace(/\p{Diacritic}/gu, ""), "é".normalize("NFC").length, "é".normalize("NFD").length];
