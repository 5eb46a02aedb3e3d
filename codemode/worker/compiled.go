package worker

import (
	"slices"

	"github.com/koan-go/koan/codemode/internal/script"
)

const (
	// compiledBytes bounds the scripts whose programs a worker keeps, in bytes of their
	// text.
	compiledBytes = 64 << 10
	// compiledShare of a script's memory bounds them, too: programs are some thirty times
	// as large as the text, and count against the memory of the scripts that follow.
	compiledShare = 1024
	// compiledLeast is what a script counts at least.
	compiledLeast = 1 << 10
)

// compiled keeps the programs of the caller's last scripts, for the next time: a dry run
// and then the run, another attempt, the same script for other arguments. A program holds
// no state of a run.
type compiled struct {
	most  int // bytes; 0 keeps nothing
	bytes int
	kept  []compiledScript // the one used last comes last
}

// compiledScript is a script's source, and its program.
type compiledScript struct {
	code, language, entry string
	module, action        bool
	program               *script.Program
}

func (k compiledScript) bytes() int { return max(len(k.code), compiledLeast) }

// compile returns the program of a script. What is imported must be the same at every
// call (forget).
func (c *compiled) compile(src script.Source) (*script.Program, error) {
	for i, k := range c.kept {
		if k.code == src.Code && k.language == src.Language && k.entry == src.Entry && k.module == src.Module && k.action == src.Action {
			c.kept = append(append(c.kept[:i:i], c.kept[i+1:]...), k)
			return k.program, nil
		}
	}
	p, err := script.Compile(src)
	k := compiledScript{src.Code, src.Language, src.Entry, src.Module, src.Action, p}
	if err != nil || k.bytes() > c.most {
		return p, err
	}
	c.kept = append(c.kept, k)
	c.bytes += k.bytes()
	for c.bytes > c.most {
		c.bytes -= c.kept[0].bytes()
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	return p, nil
}

// bound fits what is kept to a script's memory, in bytes.
func (c *compiled) bound(memory int64) { c.most = int(min(memory/compiledShare, compiledBytes)) }

// forget drops all programs.
func (c *compiled) forget() { *c = compiled{most: c.most} }
