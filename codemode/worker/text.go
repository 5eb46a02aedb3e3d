package worker

import "bytes"

// wellFormed replaces the escapes of lone surrogates in the output of JSON.stringify by U+FFFD,
// since strict parsers reject them. The engine's conversion of strings to UTF-8 replaces
// unescaped ones in the same way. raw may be modified.
func wellFormed(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\ud`)) {
		return raw
	}
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\' || i+1 == len(raw):
			out = append(out, raw[i])
		case i+5 < len(raw) && raw[i+1] == 'u' && raw[i+2] == 'd' && raw[i+3] >= '8':
			out = append(out, "\uFFFD"...) // shorter than the escape
			i += 5
		default:
			out = append(out, raw[i], raw[i+1])
			i++
		}
	}
	return out
}
