package books

import (
	"context"
	"crypto/rand"

	"github.com/koan-go/koan/framework/ledger"
)

// tagSecret names the secret by which rows are digested. Whoever can read it can read the rows.
const tagSecret = "tags"

// Secret returns the secret that is kept with the data, and makes it if there is none.
func (k *Keys) Secret(ctx context.Context) (secret string, err error) {
	err = k.with(ctx, func(l *ledger.Keys) error {
		secret, err = l.Secret(ctx, tagSecret, rand.Text()+rand.Text())
		return err
	})
	return secret, err
}
