package mcpserver

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// resource is one row of resources/list, template one of
// resources/templates/list.
type resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"`
}

type template struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"`
}

type resourcesResult struct {
	envelope
	Resources  []json.RawMessage `json:"resources"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

type templatesResult struct {
	envelope
	Templates  []json.RawMessage `json:"resourceTemplates"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// resources lists the documents, and of the templated ones each that exists.
func (l lists) resources(_ context.Context, m message, p peer) (any, *rpcError) {
	v := p.view(l.server)
	var rows []listed
	for _, d := range v.Snapshot().Documents() {
		names := []string{""}
		if d.Template {
			if names = nil; d.List != nil {
				names = d.List(v)
			}
		}
		for _, name := range names {
			r := resource{URI: expandTemplate(d, name), Name: d.Name, Description: d.Description, MIME: d.MIME}
			if name != "" {
				r.Name = d.Name + ": " + name
			}
			raw, err := invoke.Encode(r)
			if err != nil {
				return nil, protocolError(fault.New(fault.Internal, ""))
			}
			rows = append(rows, listed{r.URI, raw})
		}
	}
	page, next, bad := l.page(sorted(rows), m)
	if bad != nil {
		return nil, bad
	}
	return resourcesResult{envelope: l.server.envelope(p, true), Resources: rawRows(page), NextCursor: next}, nil
}

func (l lists) templates(_ context.Context, m message, p peer) (any, *rpcError) {
	var rows []listed
	for _, d := range p.view(l.server).Snapshot().Documents() {
		if !d.Template {
			continue
		}
		raw, err := invoke.Encode(template{URITemplate: d.URI, Name: d.Name, Description: d.Description, MIME: d.MIME})
		if err != nil {
			return nil, protocolError(fault.New(fault.Internal, ""))
		}
		rows = append(rows, listed{d.URI, raw})
	}
	page, next, bad := l.page(sorted(rows), m)
	if bad != nil {
		return nil, bad
	}
	return templatesResult{envelope: l.server.envelope(p, true), Templates: rawRows(page), NextCursor: next}, nil
}

func sorted(rows []listed) []listed {
	sort.Slice(rows, func(i, j int) bool { return rows[i].key < rows[j].key })
	return rows
}

type readResult struct {
	envelope
	Contents []contents `json:"contents"`
}

func (d documents) resource(ctx context.Context, ex *exchange) (any, *rpcError) {
	uri, bad := uriOf(ex.message)
	if bad != nil {
		return nil, bad
	}
	v := ex.peer.view(d.server)
	document, name := find(v, uri)
	if document == nil {
		return nil, noResource(ex.peer, uri)
	}
	ctx, unread := d.dialogs.withClient(ctx, ex, uri, nil)
	if unread != nil {
		return nil, unread
	}
	ctx, stop := deadline.WithTimeout(ctx, d.server.now().ToolTimeout, invoke.TimeUp)
	defer stop()
	raw, err := document.Read(ctx, v, name)
	if result, failed, ok := d.dialogs.outcome(ex, err); ok {
		return result, failed
	}
	if err != nil {
		f := fault.From(err)
		if f.Code == fault.NotFound {
			return nil, noResource(ex.peer, uri)
		}
		if f.Code == fault.Internal {
			d.server.opts.Log.Error("a resource cannot be read", "uri", uri, "error", err)
		}
		return nil, protocolError(f)
	}
	mime := document.MIME
	if document.TypeOf != nil {
		mime = document.TypeOf(ctx, v, name)
	}
	return readResult{envelope: d.server.envelope(ex.peer, true), Contents: []contents{contentsOf(uri, mime, raw)}}, nil
}

// uriOf reads the URI of a request about one resource.
func uriOf(m message) (string, *rpcError) {
	var given json.RawMessage
	members(m.params, func(name []byte, value json.RawMessage) {
		if string(name) == "uri" {
			given = value
		}
	})
	uri, ok := unquoted(given)
	if !ok {
		return "", protocolError(fault.Invalid(noText("/uri", "the resource's uri", given)))
	}
	return uri, nil
}

// noResource is the error for a resource that does not exist, with the number that it has
// in the client's era.
func noResource(p peer, uri string) *rpcError {
	if len(uri) > 256 {
		uri = uri[:256] + "…"
	}
	f := fault.Newf(fault.NotFound, "there is no resource %q", uri).WithHint("List the resources, or use a template with a name that exists.").WithDetails(map[string]any{"uri": uri})
	e := protocolError(f)
	if !p.modern {
		e.Code = mcp.RESOURCE_NOT_FOUND
	}
	return e
}

// find returns the document behind a URI: first the concrete ones, then those that are
// listed.
func find(v *catalog.View, uri string) (*catalog.Document, string) {
	for _, d := range v.Snapshot().Documents() {
		if !d.Template && d.URI == uri {
			return d, ""
		}
	}
	var open *catalog.Document
	var given string
	for _, d := range v.Snapshot().Documents() {
		switch {
		case !d.Template:
		case d.List != nil:
			for _, name := range d.List(v) {
				if expandTemplate(d, name) == uri {
					return d, name
				}
			}
		case open == nil:
			if name, ok := templateName(d, uri); ok {
				open, given = d, name
			}
		}
	}
	return open, given
}

// templateName returns the name in a URI that matches a document's template.
func templateName(d *catalog.Document, uri string) (string, bool) {
	before, rest, ok := strings.Cut(d.URI, "{")
	_, after, closed := strings.Cut(rest, "}")
	name, begins := strings.CutPrefix(uri, before)
	name, ends := strings.CutSuffix(name, after)
	return name, ok && closed && begins && ends && name != "" && !strings.Contains(name, "/")
}

// expandTemplate puts a name into a document's template.
func expandTemplate(d *catalog.Document, name string) string {
	open, end := strings.IndexByte(d.URI, '{'), strings.IndexByte(d.URI, '}')
	if !d.Template || open < 0 || end < open {
		return d.URI
	}
	return d.URI[:open] + name + d.URI[end+1:]
}
