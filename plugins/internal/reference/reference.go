// Package reference replaces references in a configuration, such as ${env:TOKEN}, so that
// secrets are not in anything that is printed or stored.
//
// What belongs here: what a reference stands for. Not here: which texts of a
// configuration may have some, or how their values are redacted.
package reference

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/koan-go/koan/framework/regular"
)

// Pattern is ${env:NAME}, ${file:PATH}, or ${NAME} and ${NAME:-default} as in clients' own
// files.
var Pattern = regexp.MustCompile(`\$\{([^{}]*)\}`)

// Variable is the name of an environment variable.
var Variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// MaxFile bounds a file that a reference names, in bytes.
const MaxFile = 64 << 10

// What is wrong with a reference that has no value.
var (
	ErrNoVariable = errors.New("the environment has no such variable")
	errOfEditors  = errors.New("editors fill this in themselves, and it has no value here")
	errUnknown    = errors.New("only ${env:NAME} and ${file:PATH} can be used here")
)

// Unresolved is a reference without a value.
type Unresolved struct {
	Ref string // as it is written, ${env:NAME}
	Err error
}

func (u *Unresolved) Error() string { return u.Ref + ": " + u.Err.Error() }

func (u *Unresolved) Unwrap() error { return u.Err }

// Advice says what to do about it, where place is configured.
func (u *Unresolved) Advice(place string) string {
	switch {
	case errors.Is(u.Err, errOfEditors), errors.Is(u.Err, errUnknown):
		return fmt.Sprintf("Write something else for %s in %s: ${env:NAME} or ${file:PATH} for a secret, an absolute path for a folder.", u.Ref, place)
	case strings.HasPrefix(u.Ref, "${file:"):
		return "Make a file there that this user can read, or correct the path."
	}
	return fmt.Sprintf("Give %s a value where this program is started.", u.Ref)
}

// Resolve returns what the inner text of a reference stands for.
func Resolve(ref string) (string, error) {
	kind, rest, ok := strings.Cut(ref, ":")
	switch {
	case ok && kind == "env":
		return Environment(rest)
	case ok && kind == "file":
		raw, err := regular.ReadFile(rest, MaxFile)
		return strings.TrimRight(string(raw), "\r\n"), err
	case ok && strings.HasPrefix(rest, "-") && Variable.MatchString(kind):
		if v, err := Environment(kind); err == nil && v != "" {
			return v, nil
		}
		return rest[1:], nil
	case !ok && Variable.MatchString(ref):
		v, err := Environment(ref)
		if err != nil && ofEditors.MatchString(ref) {
			err = errOfEditors
		}
		return v, err
	case ofEditors.MatchString(ref):
		return "", errOfEditors
	}
	return "", errUnknown
}

// ofEditors matches the references that editors fill in themselves in their own files.
var ofEditors = regexp.MustCompile(`^(input|command|config):|^(workspaceFolder|workspaceFolderBasename|workspaceRoot|userHome|pathSeparator|/|cwd)(:.*)?$`)

// Environment returns the value of a variable, or ErrNoVariable.
func Environment(name string) (string, error) {
	if v, ok := os.LookupEnv(name); ok {
		return v, nil
	}
	return "", ErrNoVariable
}

// Expand replaces ${env:NAME} and ${file:PATH} in a text, and returns the values, which are
// secrets. Anything else stays as it is written: the text may have marks of its own. The error
// names all references without a value.
func Expand(text string) (out string, secrets []string, err error) {
	var problems []error
	out = Pattern.ReplaceAllStringFunc(text, func(ref string) string {
		inner := ref[2 : len(ref)-1]
		if !strings.HasPrefix(inner, "env:") && !strings.HasPrefix(inner, "file:") {
			return ref
		}
		value, err := Resolve(inner)
		if err != nil {
			problems = append(problems, &Unresolved{ref, err})
			return ref
		}
		secrets = append(secrets, value)
		return value
	})
	return out, secrets, errors.Join(problems...)
}
