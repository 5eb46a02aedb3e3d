package journal

import (
	"net/url"
	"slices"
	"strings"
)

// secretName is a part of the names of variables, headers, flags and parameters that have
// secrets. What it finds beside them is hidden as well, which does no harm.
var secretName = pattern(`(?i)auth|bearer|cookie|credential|key|pass|pwd|secret|signature|token|\bpat$`)

// SecretName reports whether what has this name is likely to be a secret.
func SecretName(name string) bool { return secretName().MatchString(name) }

// SecretSetting reports whether the value of a setting is a secret by the setting's name. A plain
// number is none, as of maxTokens.
func SecretSetting(name, value string) bool {
	const longest = 11
	return SecretName(name) && (len(value) > longest || strings.Trim(value, "0123456789") != "")
}

var (
	// named is NAME=value, --name=value, Name: value.
	named = pattern(`^(-*[A-Za-z_][\w.-]*)(\s*[=:]\s*)([^/\s].*)$`)
	flag  = pattern(`^--?[A-Za-z][\w-]*$`)
	// address has the scheme of a URL, and the rest. A password may have any character.
	address = pattern(`^(.*?\b[A-Za-z][A-Za-z0-9+.-]*://)(.*)$`)
	// placeholder is a reference to a value that stands elsewhere.
	placeholder = pattern(`\$\{[^{}]*\}|\$[A-Za-z_]\w*|(?i)\b(?:basic|bearer|token) `)
	// random is what keys and tokens without a known beginning look like, if it has digits.
	random = pattern(`[A-Za-z0-9]{20,}`)
)

// RedactCommand returns the words of a command line as they can be shown, and the secrets
// that stood in them: values of flags, variables and headers that are named like secrets,
// passwords and parameters of URLs, and all that a Redactor finds. References such as
// ${env:TOKEN} are no secrets.
func RedactCommand(words []string) (shown, secrets []string) {
	c := &concealer{}
	return c.line(words), c.secrets
}

// RedactURL returns a URL as it can be shown, and the secrets that stood in it.
func RedactURL(text string) (shown string, secrets []string) {
	c := &concealer{}
	return c.word(text), c.secrets
}

// concealer takes secrets out of words, and collects them.
type concealer struct{ secrets []string }

// hide returns what is shown in place of a secret.
func (c *concealer) hide(value string) string {
	if value == Redacted || strings.Trim(placeholder().ReplaceAllString(value, ""), " \"'") == "" {
		return value
	}
	c.add(value)
	for _, part := range strings.Fields(placeholder().ReplaceAllString(value, " ")) { // what is behind Bearer
		c.add(part)
	}
	return Redacted
}

func (c *concealer) add(secret string) {
	if secret != "" && !slices.Contains(c.secrets, secret) {
		c.secrets = append(c.secrets, secret)
	}
}

// line hides the secrets of words that stand one behind the other.
func (c *concealer) line(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if i > 0 && flag().MatchString(words[i-1]) && SecretName(words[i-1]) && !flag().MatchString(w) {
			out[i] = c.hide(w)
			continue
		}
		out[i] = c.word(w)
	}
	return out
}

func (c *concealer) word(w string) string {
	if m := named().FindStringSubmatch(w); m != nil {
		if SecretName(m[1]) {
			return m[1] + m[2] + c.hide(m[3])
		}
		return m[1] + m[2] + c.word(m[3])
	}
	if strings.ContainsAny(w, blanks) { // a line for a shell
		return c.shell(w)
	}
	if m := address().FindStringSubmatch(w); m != nil {
		return m[1] + c.url(m[1], m[2])
	}
	return c.shapes(w)
}

// blanks separate words of a shell.
const blanks = " \t\n"

// shell hides the secrets of a line for a shell, whose blanks stay.
func (c *concealer) shell(line string) string {
	var words, between []string
	for {
		i := strings.IndexAny(line, blanks)
		if i < 0 {
			break
		}
		words, between, line = append(words, line[:i]), append(between, line[i:i+1]), line[i+1:]
	}
	words = c.line(append(words, line))
	for i := range between {
		words[i] += between[i]
	}
	return strings.Join(words, "")
}

// url hides what may be secret in a URL behind its scheme.
func (c *concealer) url(scheme, rest string) string {
	web := strings.HasSuffix(scheme, "http://") || strings.HasSuffix(scheme, "https://")
	user := ""
	if at := strings.LastIndex(rest, "@"); at >= 0 && (!web || !strings.ContainsAny(rest[:at], "/?#")) {
		user, rest = c.user(rest[:at], web)+"@", rest[at+1:]
	}
	place, query, has := strings.Cut(rest, "?")
	place = c.shapes(place)
	if !has {
		return user + place
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case ok && (web || SecretName(name)):
			pairs[i] = name + "=" + c.escaped(value)
		case !ok && web: // the parameter may be the key itself
			pairs[i] = c.escaped(pair)
		default:
			pairs[i] = c.shapes(pair)
		}
	}
	return user + place + "?" + strings.Join(pairs, "&")
}

// user hides a password, or the name of a user of the web without one, which is a token.
func (c *concealer) user(info string, web bool) string {
	name, password, has := strings.Cut(info, ":")
	switch {
	case has:
		return name + ":" + c.escaped(password)
	case web:
		return c.escaped(name)
	}
	return name
}

// escaped hides a part of a URL, which programs may print without its escapes.
func (c *concealer) escaped(part string) string {
	shown := c.hide(part)
	if plain, err := url.QueryUnescape(part); err == nil && shown == Redacted {
		c.add(plain)
	}
	return shown
}

// shapes hides what looks like a secret.
func (c *concealer) shapes(text string) string {
	text = random().ReplaceAllStringFunc(text, func(run string) string {
		const least = 3
		if digits(run) < least || strings.Trim(run, "0123456789") == "" {
			return run
		}
		return c.hide(run)
	})
	shown, _ := (*Redactor)(nil).Text(text)
	return shown
}
