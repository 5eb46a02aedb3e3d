// => ["TypeError",1,2]
let name;
try { new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.of(0xc3, 0x28)); } catch (e) { name = e.name; }
const bom = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61);
[name, new TextDecoder().decode(bom).length, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bom).length];
