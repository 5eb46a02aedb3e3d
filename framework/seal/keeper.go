package seal

import "context"

// Keeper is a provider that keeps a secret with the app's data, for what all processes on one
// database have to digest alike, those that start later too.
type Keeper interface {
	// KeptSecret returns the secret, which it makes at the first call, or a fault where the data
	// cannot be reached; "" where the provider has no place for it. It is called after the
	// provider's start, from any goroutine.
	KeptSecret(ctx context.Context) (string, error)
}
