// => [[1,2,255],258,[3,2,1]]
const bytes = new Uint8Array([1, 2, -1]);
[[...bytes], new DataView(bytes.buffer).getUint16(0), [...Int32Array.from([1, 2, 3]).reverse()]];
