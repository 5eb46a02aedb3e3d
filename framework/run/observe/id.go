package observe

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"sync"

	"github.com/google/uuid"
)

// NewRunID returns the id of a run to come, a UUID of version 7.
func NewRunID() string {
	random.Lock()
	defer random.Unlock()
	return uuid.Must(uuid.NewV7FromReader(&random)).String()
}

// random reads for many ids at once: to ask the system takes longer than all else of an id.
var random = struct {
	sync.Mutex
	*bufio.Reader
}{Reader: bufio.NewReader(rand.Reader)}

// NewTraceID returns the id of a new trace.
func NewTraceID() string {
	id := uuid.New()
	return hex.EncodeToString(id[:])
}
