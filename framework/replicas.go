package framework

import (
	"context"
	"fmt"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/seal"
)

// askSettings are the keys about asking clients, which several replicas share.
func askSettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: "server.askTimeoutMs", Default: 600000, Min: 100, Max: 604800000, Unit: "ms", Help: "how long a client may take to answer what a call asks it"},
		{Key: "server.replicas", Default: 1, Min: 1, Max: 10000, Help: "processes that serve behind one address; more than one must share a server.secret"},
		{Key: "server.secret", Secret: true, Default: []string{}, Check: checkSecrets, Help: "seals the state that clients keep between a question and its answer, and the tokens of sign-ins to upstream servers: at least 32 random characters; the first secret seals, the others only open. Empty: a random one that ends with the process; for sign-ins, one in a file"},
	}
}

func checkSecrets(value any) error {
	for _, s := range value.([]string) {
		if len(s) < seal.MinSecret {
			return fmt.Errorf("has a secret of %d characters; it must have at least %d (openssl rand -base64 32)", len(s), seal.MinSecret)
		}
	}
	return nil
}

// sealer makes the sealer of the state that clients keep.
func sealer(v catalog.Values) (*seal.Sealer, error) {
	if list := v.Strings("server.secret"); len(list) > 0 {
		return seal.New(list...)
	}
	if n := v.Int("server.replicas"); n > 1 {
		return nil, config.Problems{fmt.Sprintf("server.replicas is %d, but server.secret is empty: no replica could open the state that another one sealed; give all of them the same secret (openssl rand -base64 32)", n)}
	}
	return seal.Random(), nil
}

// tagSealer has the sealer that digests rows for entity tags. Its secret is kept with the data, so
// that all processes on one database make the same tags, and later ones too. Where there is no
// place for one, since the app has no entities, it is the sealer of what clients keep.
type tagSealer struct {
	secret func(context.Context) (string, error) // nil without
	other  *seal.Sealer

	mu   sync.Mutex
	made *seal.Sealer
}

// get returns the sealer, or a fault where the secret cannot be read now.
func (t *tagSealer) get(ctx context.Context) (*seal.Sealer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made != nil {
		return t.made, nil
	}
	made := t.other
	if t.secret != nil {
		secret, err := t.secret(ctx)
		if err != nil {
			return nil, err
		}
		if made, err = seal.New(secret); err != nil {
			return nil, err
		}
	}
	t.made = made
	return made, nil
}
