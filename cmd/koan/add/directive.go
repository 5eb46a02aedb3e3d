package add

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// directive is one //go:generate line.
type directive struct {
	line   int // from 1
	at     int // where the line begins in its file
	length int // without its end
	words  []string
	ent    *entCommand // nil where it runs something else
	wrong  error       // why an ent command cannot be read
}

// entCommand is `ent generate` with its flags.
type entCommand struct {
	before    []string // the words up to the program that is run, "go run -mod=mod"
	path      string   // of the schemas
	storage   string
	header    string
	target    string
	idType    string
	features  []string
	templates []string
}

const generateMark = "//go:generate"

// readDirectives reads the //go:generate lines of a file as `go generate` does.
func readDirectives(path string, text []byte) (out []directive) {
	at := 0
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		raw := strings.TrimRight(string(line), "\r\n")
		if rest, ok := strings.CutPrefix(raw, generateMark); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
			d := directive{line: i + 1, at: at, length: len(raw)}
			words, err := split(rest)
			if err == nil {
				d.words = words
				d.ent, err = readCommand(words)
			}
			if err != nil && strings.Contains(raw, "ent") {
				d.wrong = fmt.Errorf("%s:%d: %w", path, d.line, err)
			}
			out = append(out, d)
		}
		at += len(line)
	}
	return out
}

// split splits a line into words; those in double quotes are Go strings.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return words, nil
		}
		if line[0] != '"' {
			i := strings.IndexAny(line, " \t")
			if i < 0 {
				i = len(line)
			}
			words, line = append(words, line[:i]), line[i:]
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("a quoted word does not end: %s", line)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), line[len(quoted):]
	}
}

// join quotes words so that `go generate` reads the same words.
func join(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"") {
			out[i] = strconv.Quote(w)
		}
	}
	return strings.Join(out, " ")
}

// readCommand reads the words of `ent generate`, in whatever way it is run; nil for
// other commands.
func readCommand(words []string) (*entCommand, error) {
	for i, w := range words {
		program, _, _ := strings.Cut(w, "@")
		name := program[strings.LastIndex(program, "/")+1:]
		if name != "ent" && name != "entc" || i+1 == len(words) || words[i+1] != "generate" {
			continue
		}
		c, err := readFlags(words[i+2:])
		if err != nil {
			return nil, err
		}
		c.before = goRun(words[:i])
		return c, nil
	}
	return nil, nil
}

// goRun returns the words that run the generating program, for a line that ran ent's
// command with these words: the same `go run`, if it was one.
func goRun(words []string) []string {
	i := slices.Index(words, "go")
	if i < 0 || i+1 == len(words) || words[i+1] != "run" {
		return append(slices.Clone(words[:max(i, 0)]), "go", "run", "-mod=mod")
	}
	return words
}

// readFlags reads the flags of ent's command.
func readFlags(words []string) (*entCommand, error) {
	c := &entCommand{}
	flags := pflag.NewFlagSet("ent generate", pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.StringVar(&c.idType, "idtype", "", "")
	flags.StringVar(&c.storage, "storage", "sql", "")
	flags.StringVar(&c.header, "header", "", "")
	flags.StringVar(&c.target, "target", "", "")
	flags.StringSliceVar(&c.features, "feature", nil, "")
	flags.StringSliceVar(&c.templates, "template", nil, "")
	if err := flags.Parse(words); err != nil {
		return nil, fmt.Errorf("ent generate: %w", err)
	}
	if flags.NArg() > 1 {
		return nil, fmt.Errorf("ent generate takes one path, not %s", strings.Join(flags.Args(), " "))
	}
	c.path = flags.Arg(0)
	if c.storage != "sql" {
		return nil, fmt.Errorf("ent generate --storage %s: entities are served from SQL databases only", c.storage)
	}
	if _, ok := idTypes[c.idType]; !ok {
		return nil, fmt.Errorf("ent generate --idtype %s: it must be int, int64, uint, uint64 or string", c.idType)
	}
	for _, t := range c.templates {
		if kind, _, found := strings.Cut(t, "="); found && !slices.Contains([]string{"dir", "file", "glob"}, kind) {
			return nil, fmt.Errorf("ent generate --template %s: want dir=, file= or glob=", t)
		}
	}
	return c, nil
}

// idTypes are the values of --idtype, and the constants of package field.
var idTypes = map[string]string{"": "", "int": "TypeInt", "int64": "TypeInt64", "uint": "TypeUint", "uint64": "TypeUint64", "string": "TypeString"}

// runs reports whether a directive runs a Go file, or the package of it, of the
// module; in is the folder where it runs.
func (d *directive) runs(in, program string) bool {
	i := slices.Index(d.words, "run")
	if i < 1 || d.words[i-1] != "go" {
		return false
	}
	for _, w := range d.words[i+1:] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		at := filepath.Join(in, filepath.FromSlash(w))
		if at == program || at == filepath.Dir(program) {
			return true
		}
		if !strings.HasSuffix(w, ".go") {
			return false
		}
	}
	return false
}
