package console

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// bySecret keeps values by the digests of secrets that browsers have. A value that was not used for its life is
// forgotten, and the one that was not used for longest where there are too many.
type bySecret[T any] struct {
	clock func() time.Time
	life  time.Duration
	most  int
	mu    sync.Mutex
	kept  map[[sha256.Size]byte]dated[T]
}

type dated[T any] struct {
	value T
	used  time.Time
}

func newBySecret[T any](clock func() time.Time, life time.Duration, most int) *bySecret[T] {
	return &bySecret[T]{clock: clock, life: life, most: most, kept: map[[sha256.Size]byte]dated[T]{}}
}

// add keeps a value and returns its secret.
func (k *bySecret[T]) add(value T) (secret string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	var oldest [sha256.Size]byte
	at := now
	for id, other := range k.kept {
		if now.Sub(other.used) > k.life {
			delete(k.kept, id)
		} else if !other.used.After(at) {
			oldest, at = id, other.used
		}
	}
	if len(k.kept) >= k.most {
		delete(k.kept, oldest)
	}
	secret = rand.Text()
	k.kept[sha256.Sum256([]byte(secret))] = dated[T]{value, now}
	return secret
}

// use returns the value of a secret, which lives on from now.
func (k *bySecret[T]) use(secret string) (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, now := sha256.Sum256([]byte(secret)), k.clock()
	one, ok := k.kept[id]
	if !ok || now.Sub(one.used) > k.life {
		delete(k.kept, id)
		return value, false
	}
	k.kept[id] = dated[T]{one.value, now}
	return one.value, true
}

// remove returns the value of a secret, once.
func (k *bySecret[T]) remove(secret string) (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := sha256.Sum256([]byte(secret))
	one, ok := k.kept[id]
	delete(k.kept, id)
	return one.value, ok && k.clock().Sub(one.used) <= k.life
}
