package worker

import "bytes"

// wellFormed returns JSON text, as JSON.stringify makes it, without escapes of lone
// surrogates: strict readers refuse them. Each becomes U+FFFD, as a string that
// is not escaped does on its way out of the engine. raw may be changed.
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
