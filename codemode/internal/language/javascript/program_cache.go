package javascript

import (
	"slices"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
)

const (
	// maxCacheBytes bounds the source text of the programs that a worker keeps, in bytes.
	maxCacheBytes = 64 << 10
	// cacheShare divides the memory limit of a script into the bytes that may be kept:
	// programs are some thirty times as large as their text, and count against the memory of
	// the scripts that follow.
	cacheShare = 1024
	// minEntryBytes is what even the shortest script counts.
	minEntryBytes = 1 << 10
)

// programCache keeps the compiled programs of the caller's last scripts, since scripts are
// often repeated: after a dry run, in another attempt, with other arguments. A program holds
// no state of a run.
type programCache struct {
	maxBytes int // of source text; 0 disables the cache
	bytes    int
	entries  []cachedProgram // the least recently used one first
}

// cachedProgram is a program and the source that it was compiled from.
type cachedProgram struct {
	code, language, entry string
	module, action        bool
	program               *script.Program
}

func (k cachedProgram) bytes() int { return max(len(k.code), minEntryBytes) }

// compile returns the program of a script. If the importable modules change, the caller must
// call clear first.
func (c *programCache) compile(src script.Source) (*script.Program, error) {
	for i, k := range c.entries {
		if k.code == src.Code && k.language == src.Language && k.entry == src.Entry && k.module == src.Module && k.action == src.Action {
			c.entries = append(append(c.entries[:i:i], c.entries[i+1:]...), k)
			return k.program, nil
		}
	}
	p, err := script.Compile(src)
	k := cachedProgram{src.Code, src.Language, src.Entry, src.Module, src.Action, p}
	if err != nil || k.bytes() > c.maxBytes {
		return p, err
	}
	c.entries = append(c.entries, k)
	c.bytes += k.bytes()
	for c.bytes > c.maxBytes {
		c.bytes -= c.entries[0].bytes()
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	return p, nil
}

// setLimit adapts the size of the cache to the memory limit of a script, in bytes. It takes
// effect when the next program is added.
func (c *programCache) setLimit(memory int64) {
	c.maxBytes = int(min(memory/cacheShare, maxCacheBytes))
}

// clear drops all programs.
func (c *programCache) clear() { *c = programCache{maxBytes: c.maxBytes} }
