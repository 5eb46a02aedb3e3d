package builtins

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// schemes are the special ones, with their default ports.
var schemes = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

// url gives the parts of a URL, as the URL Standard's parser finds them, or null:
// url(input, base).
func (in *installer) url(c goja.FunctionCall) goja.Value {
	var base *address
	if b := c.Argument(1); !goja.IsUndefined(b) {
		var ok bool
		if base, ok = parseURL(b.String(), nil); !ok {
			return goja.Null()
		}
	}
	u, ok := parseURL(c.Argument(0).String(), base)
	if !ok {
		return goja.Null()
	}
	o := in.vm.NewObject()
	for name, v := range map[string]any{
		"href": u.href(), "origin": u.origin(), "protocol": u.scheme + ":", "username": u.username, "password": u.password,
		"hostname": u.host, "port": u.port, "pathname": u.pathname(), "search": marked("?", u.query), "hash": marked("#", u.fragment),
		"hasHost": u.hasHost, "opaque": u.isOpaque,
	} {
		_ = o.DefineDataProperty(name, in.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o
}

func (in *installer) special(c goja.FunctionCall) goja.Value {
	_, ok := schemes[strings.TrimSuffix(c.Argument(0).String(), ":")]
	return in.vm.ToValue(ok)
}

func marked(mark string, part *string) string {
	if part == nil || *part == "" {
		return ""
	}
	return mark + *part
}

// address is a parsed URL; every part is encoded as it is shown.
type address struct {
	scheme, username, password, host, port string
	hasHost, isOpaque                      bool
	opaque                                 string
	path                                   []string
	query, fragment                        *string
}

func (u *address) special() bool { _, ok := schemes[u.scheme]; return ok }

func (u *address) pathname() string {
	if u.isOpaque {
		return u.opaque
	}
	if len(u.path) == 0 {
		return ""
	}
	return "/" + strings.Join(u.path, "/")
}

func (u *address) href() string {
	var b strings.Builder
	b.WriteString(u.scheme + ":")
	if u.hasHost {
		b.WriteString("//")
		if u.username != "" || u.password != "" {
			b.WriteString(u.username)
			if u.password != "" {
				b.WriteString(":" + u.password)
			}
			b.WriteByte('@')
		}
		b.WriteString(u.host)
		if u.port != "" {
			b.WriteString(":" + u.port)
		}
	} else if !u.isOpaque && len(u.path) > 1 && u.path[0] == "" {
		b.WriteString("/.")
	}
	b.WriteString(u.pathname())
	if u.query != nil {
		b.WriteString("?" + *u.query)
	}
	if u.fragment != nil {
		b.WriteString("#" + *u.fragment)
	}
	return b.String()
}

func (u *address) origin() string {
	if !u.special() || u.scheme == "file" {
		return "null"
	}
	origin := u.scheme + "://" + u.host
	if u.port != "" {
		origin += ":" + u.port
	}
	return origin
}

// The percent-encode sets of the URL Standard: what is encoded besides controls
// and what is not ASCII.
const (
	inFragment = " \"<>`"
	inQuery    = " \"#<>"
	inPath     = inQuery + "?^`{}"
	inUser     = inPath + "/:;=@[\\]|"
)

func encode(s, also string) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(also, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(upper[c>>4])
			b.WriteByte(upper[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// parseURL parses a URL, against a base if it has no scheme of its own.
func parseURL(input string, base *address) (*address, bool) {
	input = strings.TrimFunc(strings.ToValidUTF8(input, "\ufffd"), func(r rune) bool { return r <= ' ' })
	input = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(input)
	u := &address{}
	if head, tail, ok := strings.Cut(input, "#"); ok {
		f := encode(tail, inFragment)
		u.fragment, input = &f, head
	}
	scheme, rest, ok := cutScheme(input)
	if !ok {
		return u, base != nil && u.relative(input, base)
	}
	u.scheme = scheme
	switch {
	case scheme == "file":
		return u, u.file(rest, base)
	case u.special():
		if base != nil && base.scheme == scheme && !u.slash(rest) {
			return u, u.relative(rest, base)
		}
		return u, u.authority(strings.TrimLeft(rest, `/\`))
	case strings.HasPrefix(rest, "//"):
		return u, u.authority(rest[2:])
	case strings.HasPrefix(rest, "/"):
		u.location(rest, nil)
		return u, true
	}
	u.isOpaque = true
	rest = u.takeQuery(rest)
	u.opaque = encode(rest, "")
	return u, true
}

func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':' && i > 0:
			return strings.ToLower(s[:i]), s[i+1:], true
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// slash tells whether a path or a host begins here.
func (u *address) slash(s string) bool {
	return s != "" && (s[0] == '/' || s[0] == '\\' && u.special())
}

// relative parses what stands behind a base.
func (u *address) relative(rest string, base *address) bool {
	if base.isOpaque {
		if rest != "" {
			return false
		}
		fragment := u.fragment
		*u = *base
		u.fragment = fragment
		return true
	}
	u.scheme = base.scheme
	if u.scheme == "file" {
		return u.file(rest, base)
	}
	if u.slash(rest) && u.slash(rest[1:]) {
		return u.authority(rest[2:])
	}
	u.username, u.password, u.host, u.port, u.hasHost = base.username, base.password, base.host, base.port, base.hasHost
	u.onto(rest, base)
	return true
}

// onto puts a path, or a part of one, on that of a base.
func (u *address) onto(rest string, base *address) {
	switch {
	case u.slash(rest):
		u.location(rest, nil)
	case rest == "":
		u.path, u.query = base.path, base.query
	case rest[0] == '?':
		u.path = base.path
		u.takeQuery(rest)
	default:
		u.location("/"+rest, base.path[:max(len(base.path)-1, 0)])
	}
}

func (u *address) file(rest string, base *address) bool {
	u.hasHost = true
	if !u.slash(rest) || !u.slash(rest[1:]) {
		if base != nil && base.scheme == "file" {
			u.host = base.host
			u.onto(rest, base)
			return true
		}
		if !u.slash(rest) {
			rest = "/" + rest
		}
		u.location(rest, nil)
		return true
	}
	rest = rest[2:]
	end := strings.IndexAny(rest, `/\?`)
	if end < 0 {
		end = len(rest)
	}
	host, ok := u.parseHost(rest[:end])
	if !ok && rest[:end] != "" {
		return false
	}
	if host != "localhost" {
		u.host = host
	}
	u.location(rest[end:], nil)
	return true
}

// authority parses from behind the two slashes on.
func (u *address) authority(rest string) bool {
	ends := "/?"
	if u.special() {
		ends = `/\?`
	}
	end := strings.IndexAny(rest, ends)
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, password, _ := strings.Cut(host[:at], ":")
		u.username, u.password = encode(user, inUser), encode(password, inUser)
		host = host[at+1:]
	}
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		if !u.setPort(host[colon+1:]) || colon == 0 {
			return false
		}
		host = host[:colon]
	}
	u.hasHost = true
	var ok bool
	if u.host, ok = u.parseHost(host); !ok || u.host == "" && (u.special() || u.username != "" || u.port != "") {
		return false
	}
	u.location(rest[end:], nil)
	return true
}

func (u *address) setPort(s string) bool {
	if s == "" {
		return true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || s[0] == '+' {
		return false
	}
	if u.port = strconv.FormatUint(n, 10); schemes[u.scheme] == u.port {
		u.port = ""
	}
	return true
}

// takeQuery cuts the query off.
func (u *address) takeQuery(s string) string {
	head, query, ok := strings.Cut(s, "?")
	if ok {
		set := inQuery
		if u.special() {
			set += "'"
		}
		query = encode(query, set)
		u.query = &query
	}
	return head
}

// location parses a path, put on the given one, and a query.
func (u *address) location(s string, on []string) {
	s = u.takeQuery(s)
	if u.special() {
		s = strings.ReplaceAll(s, `\`, "/")
		if s == "" {
			s = "/"
		}
	}
	if s == "" {
		return
	}
	u.path = slices.Clone(on)
	segments := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(seg), "%2e", ".") {
		case "..":
			u.path = u.path[:max(len(u.path)-1, 0)]
			if last {
				u.path = append(u.path, "")
			}
		case ".":
			if last {
				u.path = append(u.path, "")
			}
		default:
			u.path = append(u.path, encode(seg, inPath))
		}
	}
}

// parseHost gives a host as it is shown.
func (u *address) parseHost(s string) (string, bool) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return "[" + sixteen(ip) + "]", ok && err == nil && ip.Is6() && ip.Zone() == ""
	}
	if !u.special() {
		return encode(s, ""), !strings.ContainsAny(s, "\x00\t\n\r #/:<>?@[\\]^|")
	}
	raw, _, _ := decodeUTF8(percentDecode(s), false, false)
	host, ok := domain(raw)
	if !ok || strings.ContainsAny(host, "\x00 #%/:<>?@[\\]^|\x7f") || strings.IndexFunc(host, func(r rune) bool { return r < ' ' }) >= 0 {
		return "", false
	}
	return fourBytes(host)
}

// sixteen shows an IPv6 address without dots.
func sixteen(ip netip.Addr) string {
	if !ip.Is4In6() {
		return ip.String()
	}
	b := ip.As16()
	return "::ffff:" + strconv.FormatUint(uint64(b[12])<<8|uint64(b[13]), 16) + ":" + strconv.FormatUint(uint64(b[14])<<8|uint64(b[15]), 16)
}

// fourBytes reads an IPv4 address where a host ends in a number.
func fourBytes(host string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if _, ok := number(parts[len(parts)-1]); !ok {
		digits := strings.Trim(parts[len(parts)-1], "0123456789")
		return host, digits != "" || parts[len(parts)-1] == ""
	}
	if len(parts) > 4 {
		return "", false
	}
	var ip uint64
	for i, p := range parts {
		n, ok := number(p)
		most := uint64(255)
		if i == len(parts)-1 {
			most = 1<<(8*(5-len(parts))) - 1
			ip += n
		} else {
			ip += n << (8 * (3 - i))
		}
		if !ok || n > most {
			return "", false
		}
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String(), true
}

// number reads a part of an IPv4 address: decimal, octal, or hexadecimal.
func number(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	base := 10
	switch {
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
