package web

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/koan-go/koan/framework/fault"
)

// keepForm shows the page that a form stood on once more, with what was typed into the form, and why
// it failed beside it. It reports false where that page is not known or cannot be shown any more.
func (s *site) keepForm(v *visit, err error, status int) bool {
	origin := v.origin()
	if origin == nil {
		return false
	}
	r := v.Clone(v.Context())
	r.Method, r.URL, r.RequestURI, r.Body, r.ContentLength = http.MethodGet, origin, origin.RequestURI(), http.NoBody, 0
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil
	for _, name := range []string{"Content-Type", "Content-Length", "If-None-Match", "Range"} {
		r.Header.Del(name)
	}
	shown := &memory{header: http.Header{}}
	s.mux.ServeHTTP(shown, r)
	if shown.status != http.StatusOK || !strings.HasPrefix(shown.header.Get("Content-Type"), "text/html") {
		return false
	}
	page, unread := html.Parse(&shown.body)
	if unread != nil {
		return false
	}
	refill(page, v.URL.Path, v.PostForm, v.forPeople(err), field(err))
	var out bytes.Buffer
	if html.Render(&out, page) != nil {
		return false
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(out.Bytes())
	return true
}

// origin is the page of this site that a form stood on, nil if it is not known.
func (v *visit) origin() *url.URL {
	to, err := url.Parse(v.back(""))
	if err != nil || to.Path == "" {
		from, err := url.Parse(v.Referer())
		if err != nil || from.Path == "" || from.Host != v.Host {
			return nil
		}
		to = &url.URL{Path: from.Path, RawQuery: from.RawQuery}
	}
	q := to.Query()
	q.Del("did")
	q.Del("run")
	to.RawQuery = q.Encode()
	return to
}

// field is the name of the field that a fault is about, "" for none.
func field(err error) string {
	steps := fault.Steps(fault.From(err).Path)
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1]
}

// memory keeps a page instead of sending it.
type memory struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (m *memory) Header() http.Header { return m.header }

func (m *memory) WriteHeader(status int) { m.status = status }

func (m *memory) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	return m.body.Write(p)
}

// refill puts what was sent into the form of a page that sent it, and what went wrong above it.
// Where the form is not there any more, that stands above the page.
func refill(page *html.Node, action string, sent url.Values, t *trouble, wrong string) {
	form := formOf(page, action, sent)
	if form == nil {
		if main := find(page, func(n *html.Node) bool { return n.DataAtom == atom.Main }); main != nil {
			main.InsertBefore(notice(t), main.FirstChild)
		}
		return
	}
	for n := form; n != nil; n = n.Parent { // what is folded away is not seen
		if n.DataAtom == atom.Details {
			set(n, "open", "")
		}
	}
	var focus *html.Node
	for n := range form.Descendants() {
		if !isField(n) {
			continue
		}
		name := attribute(n, "name")
		if values, ok := sent[name]; ok {
			fill(n, values)
		}
		switch {
		case name == wrong:
			set(n, "aria-invalid", "true")
			focus = n
		case focus == nil:
			focus = n
		}
	}
	if focus != nil {
		set(focus, "autofocus", "")
	}
	form.InsertBefore(notice(t), form.FirstChild)
}

// formOf is the form of a page that sends to an address. Of several it is the one whose hidden
// fields were sent, such as which of the lots it is about.
func formOf(page *html.Node, action string, sent url.Values) *html.Node {
	return find(page, func(n *html.Node) bool {
		if n.DataAtom != atom.Form || !strings.EqualFold(attribute(n, "method"), http.MethodPost) || attribute(n, "action") != action {
			return false
		}
		for f := range n.Descendants() {
			name := attribute(f, "name")
			if f.DataAtom != atom.Input || attribute(f, "type") != "hidden" || name == "key" || name == "version" || name == "back" {
				continue
			}
			if !slices.Contains(sent[name], attribute(f, "value")) {
				return false
			}
		}
		return true
	})
}

// isField reports whether an element is a field that people fill in.
func isField(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Select, atom.Textarea:
		return true
	case atom.Input:
		kind := attribute(n, "type")
		return kind != "hidden" && kind != "file"
	}
	return false
}

// fill puts values into a field.
func fill(n *html.Node, values []string) {
	switch n.DataAtom {
	case atom.Textarea:
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
		n.AppendChild(&html.Node{Type: html.TextNode, Data: values[0]})
	case atom.Select:
		for o := range n.Descendants() {
			if o.DataAtom == atom.Option {
				mark(o, "selected", slices.Contains(values, valueOf(o)))
			}
		}
	default:
		if kind := attribute(n, "type"); kind == "checkbox" || kind == "radio" {
			mark(n, "checked", slices.Contains(values, attribute(n, "value")))
			return
		}
		set(n, "value", values[0])
	}
}

// valueOf is the value of an option, which is its text where it says none.
func valueOf(option *html.Node) string {
	for _, a := range option.Attr {
		if a.Key == "value" {
			return a.Val
		}
	}
	if option.FirstChild != nil {
		return strings.TrimSpace(option.FirstChild.Data)
	}
	return ""
}

// notice is what went wrong, as an element. The script of the pages leaves the page alone while it
// stands there.
func notice(t *trouble) *html.Node {
	box := element(atom.Div, "class", "notice wrong", "role", "alert", "data-fault", "")
	say := func(in *html.Node, tag atom.Atom, text string) {
		p := element(tag)
		p.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		in.AppendChild(p)
	}
	say(box, atom.P, t.Message)
	if len(t.Reasons) > 0 {
		list := element(atom.Ul)
		for _, reason := range t.Reasons {
			say(list, atom.Li, reason)
		}
		box.AppendChild(list)
	}
	if t.Hint != "" {
		say(box, atom.P, t.Hint)
	}
	return box
}

func element(tag atom.Atom, attributes ...string) *html.Node {
	n := &html.Node{Type: html.ElementNode, DataAtom: tag, Data: tag.String()}
	for i := 0; i+1 < len(attributes); i += 2 {
		n.Attr = append(n.Attr, html.Attribute{Key: attributes[i], Val: attributes[i+1]})
	}
	return n
}

func find(in *html.Node, is func(*html.Node) bool) *html.Node {
	for n := range in.Descendants() {
		if is(n) {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func set(n *html.Node, name, value string) {
	mark(n, name, false)
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// mark gives an element an attribute without a value, or takes it away.
func mark(n *html.Node, name string, on bool) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if on {
		n.Attr = append(n.Attr, html.Attribute{Key: name})
	}
}
