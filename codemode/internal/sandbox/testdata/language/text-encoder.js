// => [[195,164,240,159,152,128],"ä😀","�a"]
const bytes = new TextEncoder().encode("ä😀");
[[...bytes], new TextDecoder().decode(bytes), new TextDecoder("utf-8").decode(Uint8Array.of(0xff, 0x61))];
