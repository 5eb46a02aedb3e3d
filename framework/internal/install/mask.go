package install

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/koan-go/koan/framework/journal"
)

// mask hides the secrets of servers in lines of a client's file.
type mask struct {
	shown map[string]string // a text of the file, as it is shown
	parts []string          // what is hidden wherever it stands
	whole map[string]bool   // what is hidden where it is all of a value
}

const hidden = "***"

// leastPart is how long a secret is that is hidden also in the middle of other texts: a
// shorter one occurs in words.
const leastPart = 4

// newMask looks for the secrets in versions of a file.
func newMask(c client, versions ...[]byte) *mask {
	v := &mask{shown: map[string]string{}, whole: map[string]bool{}}
	for _, raw := range versions {
		d, err := c.open(raw)
		if err != nil {
			continue
		}
		for _, s := range d.servers() {
			for name, value := range s.value {
				v.member(name, value, false)
			}
		}
	}
	return v
}

// member notes what is secret in a member of a server: all values of env and headers, and
// of what is named like a secret.
func (v *mask) member(name string, value any, secret bool) {
	if name == "env_vars" || strings.HasSuffix(name, "_env_var") {
		value = withoutVariables(value)
	}
	secret = secret || name == "env" || strings.HasSuffix(name, "headers") || journal.SecretName(name)
	switch value := value.(type) {
	case string:
		if secret {
			v.part(value)
			return
		}
		v.words([]string{value})
	case []any:
		var words []string
		for _, one := range value {
			text, ok := one.(string)
			if !ok {
				v.member(name, one, secret)
				continue
			}
			words = append(words, text)
		}
		v.words(words)
	case map[string]any:
		for name, one := range value {
			v.member(name, one, secret)
		}
	case float64, int64:
		if secret {
			v.whole[encode(value, "", "")] = true
		}
	}
}

// variable is the name of a variable as nearly all have it; a token that somebody put in its place is
// none.
var variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// withoutVariables returns what of a member that names variables is no such name.
func withoutVariables(value any) any {
	switch value := value.(type) {
	case string:
		if variable.MatchString(value) {
			return nil
		}
	case []any:
		var out []any
		for _, one := range value {
			if one = withoutVariables(one); one != nil {
				out = append(out, one)
			}
		}
		return out
	}
	return value
}

// words notes the secrets in the words of a command line, or in an address.
func (v *mask) words(words []string) {
	shown, secrets := journal.RedactCommand(words)
	for i, w := range words {
		if shown[i] != w {
			v.shown[w] = shown[i]
		}
	}
	for _, s := range secrets {
		v.part(s)
	}
}

// part notes a secret, unless it refers to a variable.
func (v *mask) part(secret string) {
	switch {
	case secret == "" || strings.Contains(secret, "$"):
	case len(secret) < leastPart:
		v.whole[secret] = true
	default:
		v.parts = append(v.parts, secret)
	}
}

// literal is a text or a number in JSON or TOML, with what makes it the name of a member.
var literal = regexp.MustCompile(`("(?:[^"\\]|\\.)*"|'[^']*'|\b[0-9][0-9.eE+-]*\b)(\s*[:=])?`)

// line returns a line of the file as it is shown.
func (v *mask) line(line string) string {
	line = literal.ReplaceAllStringFunc(line, func(whole string) string {
		m := literal.FindStringSubmatch(whole)
		quoted, isName := m[1], m[2] != ""
		text := strings.Trim(quoted, "'")
		if quoted[0] == '"' && json.Unmarshal([]byte(quoted), &text) != nil {
			return whole
		}
		shown, ok := v.shown[text]
		switch mark := quoted[:1]; {
		case ok:
			return encode(shown, "", "") + m[2]
		case isName || !v.whole[text]:
			return whole
		case mark == `"` || mark == `'`:
			return mark + hidden + mark
		}
		return hidden
	})
	line = journal.RedactValues(line, v.parts)
	line, _ = (*journal.Redactor)(nil).Text(line) // the file may have others beside servers
	return strings.ReplaceAll(line, journal.Redacted, hidden)
}
