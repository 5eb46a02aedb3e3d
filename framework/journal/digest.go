package journal

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest returns "sha256:" and the hex digest of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return DigestText(sum[:])
}

// DigestText returns "sha256:" and a sum in hex.
func DigestText(sum []byte) string {
	const kind = "sha256:"
	var text [len(kind) + 2*sha256.Size]byte
	hex.Encode(text[copy(text[:], kind):], sum)
	return string(text[:])
}
