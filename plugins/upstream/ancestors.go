package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ancestorsKey is the environment variable with the servers that led to this process, outermost first: those that
// Koan started as another process's server, by their identities. A server may be an app of Koan that has servers, too.
const ancestorsKey = "KOAN_ANCESTORS"

// maxAncestors bounds how many servers start one another in a row.
const maxAncestors = 8

// circle says that a server is not started, since that would go on without end.
type circle struct{ itself bool }

func (e *circle) Error() string {
	if e.itself {
		return "it would start itself: this process was started by the same command, in the same folder, with the same env"
	}
	return fmt.Sprintf("%d servers have started one another in a row", maxAncestors)
}

// identity returns a digest of what the configuration says of a server's process. Two processes with the same digest
// do the same. References are not resolved, since other processes can see the variable.
func (c *Config) identity(dir string) (string, error) {
	dir, err := filepath.Abs(dir) // "" is where this process is
	if err != nil {
		return "", err
	}
	whole, err := json.Marshal([]any{c.Command, dir, c.Env, c.EnvFile})
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:8]), err
}

// descend returns what a server's process gets as its ancestors; a *circle if it must not be started.
func (c *Config) descend(dir string) (string, error) {
	own, err := c.identity(dir)
	if err != nil {
		return "", err
	}
	before := strings.Fields(os.Getenv(ancestorsKey))
	switch {
	case slices.Contains(before, own):
		return "", &circle{itself: true}
	case len(before) >= maxAncestors:
		return "", &circle{}
	}
	return strings.Join(append(before, own), " "), nil
}

// startsReader reports whether an entry of the client's file at path starts the program that reads the file: with
// it, a gateway stands in the file of the client that starts it.
func (c *Config) startsReader(path string) bool {
	if len(c.Command) == 0 {
		return false
	}
	named := func(text string) bool {
		_, value, _ := strings.Cut(text, "=")
		return sameFile(text, path) || value != "" && sameFile(value, path)
	}
	if !slices.ContainsFunc(c.Command[1:], named) && !slices.ContainsFunc(slices.Collect(maps.Values(c.Env)), named) {
		return false
	}
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return false
	}
	own, err := os.Executable()
	return err == nil && sameFile(program, own)
}

// sameFile reports whether both paths are of one file that is there.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
