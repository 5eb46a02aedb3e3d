// => "https://shop.example/search?q=milk+%26+honey&lang=de#results"
const url = new URL("https://shop.example");
url.pathname = "/search";
url.searchParams.set("q", "milk & honey");
url.searchParams.append("lang", "de");
url.hash = "results";
url.toString();
