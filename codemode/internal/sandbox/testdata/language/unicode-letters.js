// => ["Müller","O-Brien","Łódź 漢字"]
const clean = (s) => s.replace(/[^\p{L}\p{N}\s-]/gu, "").trim();
[clean("Müller!"), clean("O-Brien?"), clean("Łódź (漢字)")];
