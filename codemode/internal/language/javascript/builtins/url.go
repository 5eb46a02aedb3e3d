package builtins

import (
	"github.com/dop251/goja"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// url implements url(input, base), which returns the parts of a URL by the URL Standard, or null
// for an invalid URL.
func (in *installer) url(c goja.FunctionCall) goja.Value {
	u, ok := parseURL(c.Argument(0), c.Argument(1))
	if !ok {
		return goja.Null()
	}
	return in.parts(u)
}

func parseURL(input, base goja.Value) (*whatwg.Url, bool) {
	if goja.IsUndefined(base) {
		u, err := whatwg.Parse(input.String())
		return u, err == nil
	}
	on, err := whatwg.Parse(base.String())
	if err != nil {
		return nil, false
	}
	u, err := on.Parse(input.String())
	return u, err == nil
}

// setURL are the setters of a URL's parts.
var setURL = map[string]func(u *whatwg.Url, value string){
	"protocol": (*whatwg.Url).SetProtocol, "username": (*whatwg.Url).SetUsername, "password": (*whatwg.Url).SetPassword,
	"host": (*whatwg.Url).SetHost, "hostname": (*whatwg.Url).SetHostname, "port": (*whatwg.Url).SetPort,
	"pathname": (*whatwg.Url).SetPathname, "search": (*whatwg.Url).SetSearch, "hash": (*whatwg.Url).SetHash,
}

// urlWith implements urlWith(href, part, value), which returns the parts of a URL with one part
// replaced. By the URL Standard an invalid value changes nothing.
func (in *installer) urlWith(c goja.FunctionCall) goja.Value {
	u, ok := parseURL(c.Argument(0), goja.Undefined())
	if !ok { // a serialised URL that does not parse again
		return goja.Null()
	}
	setURL[c.Argument(1).String()](u, c.Argument(2).String())
	return in.parts(u)
}

func (in *installer) parts(u *whatwg.Url) goja.Value {
	o := in.vm.NewObject()
	for name, v := range map[string]string{
		"href": u.Href(false), "origin": origin(u), "protocol": u.Protocol(), "username": u.Username(), "password": u.Password(),
		"host": u.Host(), "hostname": u.Hostname(), "port": u.Port(), "pathname": u.Pathname(), "search": u.Search(), "hash": u.Hash(),
	} {
		_ = o.DefineDataProperty(name, in.vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o
}

func origin(u *whatwg.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := whatwg.Parse(u.Pathname()); err == nil && (inner.Scheme() == "http" || inner.Scheme() == "https") {
			return origin(inner)
		}
	}
	return "null"
}
