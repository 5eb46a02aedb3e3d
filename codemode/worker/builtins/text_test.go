package builtins

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

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
		"domain in Unicode":   {"http://Bücher.de/", "", "http://xn--bcher-kva.de/"},
	} {
		t.Run(name, func(t *testing.T) {
			var base *address
			if c.base != "" {
				var ok bool
				base, ok = parseURL(c.base, nil)
				require.True(t, ok)
			}
			u, ok := parseURL(c.input, base)
			require.True(t, ok)
			require.Equal(t, c.href, u.href())
		})
	}
}

func TestNoURL(t *testing.T) {
	for _, s := range []string{"", "a", "/a", "//a", "http://", "http://a b/", "http://a:99999", "http://a:x", "http://[::1", "http://1.2.3.4.5", "http://256.0.0.1", "http://a%00b", "http://:80"} {
		_, ok := parseURL(s, nil)
		require.False(t, ok, "%q", s)
	}
}

// The replacements of the Encoding Standard.
func TestDecodeUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"ä😀": "ä😀", "\xff": "\ufffd", "\xe2\x82": "\ufffd", "\xe2\x82a": "\ufffda", "\xf0\x9f\x98": "\ufffd",
		"\xc0\x80": "\ufffd\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xe2\xe2\x82\xac": "\ufffd€",
	} {
		got, _, ok := decodeUTF8([]byte(in), false, false)
		require.True(t, ok)
		require.Equal(t, want, got, "%x", in)
	}
	_, _, ok := decodeUTF8([]byte("a\xff"), true, false)
	require.False(t, ok)
	got, rest, ok := decodeUTF8([]byte("a\xe2\x82"), true, true)
	require.True(t, ok)
	require.Equal(t, "a", got)
	require.Equal(t, "\xe2\x82", string(rest))
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://a/b?c#d", "https://u:p@h:1/../x", "mailto:x", "file:a", "app:/.//x", "http://[::1]", "http://ä.de", "x://", `ws:\\a`} {
		f.Add(s, "http://b/c/d?e")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, input, on string) {
		base, ok := parseURL(on, nil)
		if !ok {
			base = nil
		}
		u, ok := parseURL(input, base)
		if !ok {
			return
		}
		again, ok := parseURL(u.href(), nil)
		if !ok {
			t.Fatalf("%q on %q gave %q, which is no URL", input, on, u.href())
		}
		require.Equal(t, u.href(), again.href(), "%q on %q", input, on)
	})
}

func FuzzDecodeUTF8(f *testing.F) {
	f.Add([]byte("ä\xff\xe2\x82"), true)
	f.Fuzz(func(t *testing.T, b []byte, more bool) {
		text, rest, ok := decodeUTF8(b, false, more)
		require.True(t, ok)
		require.True(t, utf8.ValidString(text))
		require.Less(t, len(rest), utf8.UTFMax)
	})
}
