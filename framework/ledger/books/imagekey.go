package books

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/regular"
	"github.com/koan-go/koan/framework/seal"
)

// imageKey has the key by which secret values in the journal are sealed: the app's secrets or,
// if it has none, a random one in a file. Values that were sealed by either can be opened.
type imageKey struct {
	file    string
	secrets []string

	mu   sync.Mutex
	made *seal.Sealer
}

// sealer implements ledger.Sealing.
func (k *imageKey) sealer(create bool) (*seal.Sealer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made != nil {
		return k.made, nil
	}
	secrets := k.secrets
	key, err := regular.ReadFile(k.file, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) && len(secrets) == 0 && create {
		key, err = makeKey(k.file)
	}
	switch {
	case err == nil:
		secrets = append(secrets[:len(secrets):len(secrets)], string(bytes.TrimSpace(key)))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the key of the journal cannot be read: %w", err)
	}
	if len(secrets) == 0 {
		return nil, nil
	}
	sealer, err := seal.New(secrets...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.file, err)
	}
	k.made = sealer
	return sealer, nil
}

var _ ledger.Sealing = (*imageKey)(nil).sealer

// maxKeyFile bounds the file of a key, in bytes.
const maxKeyFile = 4 << 10

// makeKey makes the file of a key, unless another process has just made it.
func makeKey(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("there is no home directory for its key; set server.secret")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".key-*") // nobody else may read it
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := database.SyncFolder(dir); err != nil {
		return nil, err
	}
	return regular.ReadFile(path, maxKeyFile)
}
