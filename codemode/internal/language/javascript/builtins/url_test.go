package builtins

import (
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// parse parses a URL like new URL in a script; an empty base means none.
func parse(input, base string) (href string, ok bool) {
	vm := goja.New()
	on := goja.Undefined()
	if base != "" {
		on = vm.ToValue(base)
	}
	u, ok := parseURL(vm.ToValue(input), on)
	if !ok {
		return "", false
	}
	return u.Href(false), true
}

func TestParseURL(t *testing.T) {
	for name, c := range map[string]struct{ input, base, href string }{
		"lower case":          {"HTTP://EXAMPLE.com/A", "", "http://example.com/A"},
		"default port":        {"https://a:443", "", "https://a/"},
		"other port":          {"https://a:080/", "", "https://a:80/"},
		"backslashes":         {`http:\\a\b`, "", "http://a/b"},
		"blanks around":       {"  http://a/\tb ", "", "http://a/b"},
		"dots":                {"http://a/b/./c/../d/%2e%2E/e", "", "http://a/b/e"},
		"dot at the end":      {"http://a/b/..", "", "http://a/"},
		"above the root":      {"http://a/../../b", "", "http://a/b"},
		"encoded":             {"http://a/ä b?ö '#ü `", "", "http://a/%C3%A4%20b?%C3%B6%20%27#%C3%BC%20%60"},
		"user":                {"ftp://u:p@w@h/x", "", "ftp://u:p%40w@h/x"},
		"relative":            {"g", "http://a/b/c/d;p?q", "http://a/b/c/g"},
		"query only":          {"?y", "http://a/b/c/d;p?q", "http://a/b/c/d;p?y"},
		"fragment only":       {"#s", "http://a/b/c/d;p?q", "http://a/b/c/d;p?q#s"},
		"two up":              {"../../g", "http://a/b/c/d;p?q", "http://a/g"},
		"other host":          {"//g/x", "http://a/b", "http://g/x"},
		"same scheme":         {"http:g", "http://a/b/c", "http://a/b/g"},
		"opaque":              {"mailto:a b@c", "", "mailto:a b@c"},
		"data":                {"data:text/plain,x?y#z", "", "data:text/plain,x?y#z"},
		"unknown scheme":      {"app://Host/p", "", "app://Host/p"},
		"file":                {"file:///a/../b", "", "file:///b"},
		"file on this host":   {"file://localhost/x", "", "file:///x"},
		"IPv4 in hexadecimal": {"http://0xC0.0250.01", "", "http://192.168.0.1/"},
		"IPv6":                {"http://[1:0:0::2]/", "", "http://[1::2]/"},
		"IPv4 in IPv6":        {"http://[::ffff:1.2.3.4]/", "", "http://[::ffff:102:304]/"},
		"one slash":           {"http:/example.com/", "http://example.org/foo/bar", "http://example.org/example.com/"},
		"drive letter":        {"C|/foo", "file:///tmp/mock", "file:///C:/foo"},
		"drive is kept":       {"..", "file:///C:/a/b", "file:///C:/"},
		"invisible":           {"http://GOO\u200b\u2060goo.com", "", "http://googoo.com/"},
		"domain in Unicode":   {"http://Bücher.de/", "", "http://xn--bcher-kva.de/"},
	} {
		t.Run(name, func(t *testing.T) {
			href, ok := parse(c.input, c.base)
			require.True(t, ok)
			require.Equal(t, c.href, href)
		})
	}
}

func TestInvalidURL(t *testing.T) {
	for _, s := range []string{"", "a", "/a", "//a", "http://", "http://a b/", "http://a:99999", "http://a:x", "http://[::1", "http://1.2.3.4.5", "http://256.0.0.1", "http://a%00b", "http://:80", "http://a.b.c.xn--pokxncvks", "http://foo.0XFfFfFfFfFfFfFfFfFfAcE123", "sc://@/"} {
		_, ok := parse(s, "")
		require.False(t, ok, "%q", s)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://a/b?c#d", "https://u:p@h:1/../x", "mailto:x", "file:a", "app:/.//x", "http://[::1]", "http://ä.de", "x://", `ws:\\a`} {
		f.Add(s, "http://b/c/d?e")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, input, on string) {
		href, ok := parse(input, on)
		if !ok {
			return
		}
		again, ok := parse(href, "")
		require.True(t, ok, "%q on %q is %q, which is no URL", input, on, href)
		require.Equal(t, href, again, "%q on %q", input, on)
	})
}
