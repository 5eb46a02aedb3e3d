// => "acegikmobdfhjlnp"
[..."abcdefghijklmnop"].map((c, i) => ({ c, k: i % 2 })).sort((a, b) => a.k - b.k).map((o) => o.c).join("");
