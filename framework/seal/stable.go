package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// Stable seals contents so that equal ones have equal seals, which do not expire. It is safe for
// concurrent use.
type Stable struct {
	mac  []byte
	aead cipher.AEAD
}

const stableNonce = 12

// Stable returns the stable seals for a purpose. Replicas have the same, and previous secrets open none.
func (s *Sealer) Stable(purpose string) *Stable {
	const keySize = 32
	material, err := hkdf.Key(sha256.New, s.secrets[0], nil, "koan stable seal 1 "+purpose, 2*keySize)
	if err != nil { // only for lengths that are not these
		panic("seal: " + err.Error())
	}
	block, err := aes.NewCipher(material[:keySize])
	if err != nil {
		panic("seal: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("seal: " + err.Error())
	}
	return &Stable{mac: material[keySize:], aead: aead}
}

// nonce belongs to a content alone, so that no two have the same.
func (s *Stable) nonce(content []byte) []byte {
	m := hmac.New(sha256.New, s.mac)
	m.Write(content)
	return m.Sum(nil)[:stableNonce]
}

// Seal returns a text that Open turns back.
func (s *Stable) Seal(content []byte) string {
	nonce := s.nonce(content)
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, content, nil))
}

// Open returns what was sealed; ok is false for any other text.
func (s *Stable) Open(sealed string) (content []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < stableNonce {
		return nil, false
	}
	content, err = s.aead.Open(nil, raw[:stableNonce], raw[stableNonce:], nil)
	return content, err == nil && subtle.ConstantTimeCompare(raw[:stableNonce], s.nonce(content)) == 1
}
