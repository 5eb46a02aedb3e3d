// Package seal lets others keep state, so that no replica of a server has to: who keeps it
// can neither read nor change it, and it is valid for one purpose and for a limited time.
//
// What belongs here: keys, authenticated encryption, binding and expiry. Not here:
// what is sealed, and any record of seals. So a seal can be presented more than once;
// callers that must not act twice have to keep track themselves.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MinSecret is the least length of a secret, in bytes. It should be random:
// `openssl rand -base64 32`.
const MinSecret = 32

// Why something cannot be opened.
var (
	ErrForged  = errors.New("seal: this was not sealed with our secret for this purpose")
	ErrExpired = errors.New("seal: it has expired")
)

// Sealer seals with one secret and opens with several. It is safe for concurrent
// use.
type Sealer struct {
	secrets [][]byte // the first seals
	now     func() time.Time
}

// New makes a sealer of secrets with at least MinSecret bytes each: the one that seals,
// and previous ones whose seals are still valid. Replicas share them.
func New(secrets ...string) (*Sealer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("seal: no secret")
	}
	s := &Sealer{now: time.Now}
	for _, secret := range secrets {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("seal: a secret must have at least %d characters, not %d", MinSecret, len(secret))
		}
		s.secrets = append(s.secrets, []byte(secret))
	}
	return s, nil
}

// Random makes a sealer whose secret ends with the process.
func Random() *Sealer {
	return &Sealer{secrets: [][]byte{[]byte(rand.Text() + rand.Text())}, now: time.Now}
}

// A seal is the base64url of: version, salt, and the encryption of the expiry
// (milliseconds since 1970, 8 bytes) and the content. The key belongs to the salt,
// and so to this seal alone: no two have the same key and nonce, however many there
// are.
const (
	version  = 1
	saltSize = 24
	expiry   = 8
	overhead = 1 + saltSize + expiry + 16
)

// Seal returns a text that Open turns back until expires, given the same binding: the
// purpose, and whatever else must be the same.
func (s *Sealer) Seal(content []byte, expires time.Time, binding ...string) string {
	out := make([]byte, 1+saltSize, overhead+len(content))
	out[0] = version
	_, _ = rand.Read(out[1:]) // never fails
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, expiry+len(content)), uint64(expires.UnixMilli()))
	aead, nonce := derive(s.secrets[0], out[1:])
	out = aead.Seal(out, nonce, append(plain, content...), bound(binding))
	return base64.RawURLEncoding.EncodeToString(out)
}

// Open returns what was sealed, or ErrForged or ErrExpired.
func (s *Sealer) Open(sealed string, binding ...string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || strings.ContainsAny(sealed, "\r\n") || len(raw) < overhead || raw[0] != version { // the decoder skips lines' ends
		return nil, ErrForged
	}
	salt, text := raw[1:1+saltSize], raw[1+saltSize:]
	for _, secret := range s.secrets {
		aead, nonce := derive(secret, salt)
		plain, err := aead.Open(nil, nonce, text, bound(binding))
		if err != nil {
			continue
		}
		if s.now().UnixMilli() >= int64(binary.BigEndian.Uint64(plain)) {
			return nil, ErrExpired
		}
		return plain[expiry:], nil
	}
	return nil, ErrForged
}

// Digest returns a digest of a content for a purpose, which nobody else can compute or guess
// the content from. Replicas return the same.
func (s *Sealer) Digest(purpose string, content []byte) string {
	m := hmac.New(sha256.New, s.secrets[0])
	m.Write(bound([]string{"koan digest 1", purpose}))
	m.Write(content)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:15])
}

// derive makes the key and the nonce of one seal.
func derive(secret, salt []byte) (cipher.AEAD, []byte) {
	const keySize, nonceSize = 32, 12
	material, err := hkdf.Key(sha256.New, secret, salt, "koan seal 1", keySize+nonceSize)
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
	return aead, material[keySize:]
}

// bound encodes a binding so that different lists have different bytes.
func bound(binding []string) []byte {
	var b bytes.Buffer
	for _, part := range binding {
		b.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		b.WriteString(part)
	}
	return b.Bytes()
}
