package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest returns "sha256:" and the hex digest of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return digestText(sum[:])
}

func digestText(sum []byte) string {
	const kind = "sha256:"
	var text [len(kind) + 2*sha256.Size]byte
	hex.Encode(text[copy(text[:], kind):], sum)
	return string(text[:])
}

// digestOf is the digest of changes as json.Marshal writes them, of which no more than
// one stands in memory.
func digestOf(changes []Change) (string, error) {
	if changes == nil {
		return Digest([]byte("null")), nil
	}
	h := sha256.New()
	for i := range changes {
		raw, err := json.Marshal(&changes[i])
		if err != nil {
			return "", err
		}
		h.Write([]byte{"[,"[min(i, 1)]})
		h.Write(raw)
	}
	if len(changes) == 0 {
		h.Write([]byte{'['})
	}
	h.Write([]byte{']'})
	return digestText(h.Sum(nil)), nil
}

// ChangesDigest is the digest of changes as JSON. The receipt's is the record's, too:
// those with before and after take longer to write than to digest.
func (r *Run) ChangesDigest(changes []Change) string {
	if d := &r.digested; len(changes) > 0 && len(d.changes) == len(changes) && &d.changes[0] == &changes[0] {
		return d.digest
	}
	digest, err := digestOf(changes)
	if err != nil {
		return ""
	}
	r.digested.changes, r.digested.digest = changes, digest
	return digest
}
