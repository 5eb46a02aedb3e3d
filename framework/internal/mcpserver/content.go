package mcpserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// mediaContent is a picture or a sound.
type mediaContent struct {
	Type string `json:"type"`
	Data string `json:"data"` // base64
	MIME string `json:"mimeType"`
}

// link leads to a document that the client can read.
type link struct {
	Type string `json:"type"`
	URI  string `json:"uri"`
	Name string `json:"name"`
	MIME string `json:"mimeType,omitempty"`
	Size int64  `json:"size,omitempty"`
}

type embedded struct {
	Type     string   `json:"type"`
	Resource contents `json:"resource"`
}

// contents is a document's content, by itself or embedded.
type contents struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType,omitempty"`
	Text *string `json:"text,omitempty"`
	Blob *string `json:"blob,omitempty"` // base64
}

func contentsOf(uri, mime string, raw []byte) contents {
	c := contents{URI: uri, MIME: mime}
	if utf8.Valid(raw) {
		c.Text = new(string(raw))
	} else {
		c.Blob = new(base64.StdEncoding.EncodeToString(raw))
	}
	return c
}

// block is a block of content on the wire. Its error is for the log: a provider made
// content that no client could read.
func block(p peer, c catalog.Content) (any, error) {
	kind, _, _ := strings.Cut(c.MIME, "/")
	switch {
	case c.Link && !p.supportsLinks():
		return textContent{"text", fmt.Sprintf("(%s: %s, %d bytes)", c.URI, c.MIME, c.Size)}, nil
	case c.Link:
		return link{"resource_link", c.URI, cmp.Or(c.Name, path.Base(c.URI)), c.MIME, c.Size}, nil
	case c.URI != "" && len(c.Data) > 0:
		return embedded{"resource", contentsOf(c.URI, c.MIME, c.Data)}, nil
	case c.URI != "":
		return embedded{"resource", contentsOf(c.URI, c.MIME, []byte(c.Text))}, nil
	case len(c.Data) == 0:
		return textContent{"text", strings.ToValidUTF8(c.Text, "\uFFFD")}, nil
	case kind == "audio" && !p.supportsAudio():
		return textContent{"text", fmt.Sprintf("(%s, %d bytes)", c.MIME, len(c.Data))}, nil
	case kind == "image" || kind == "audio":
		return mediaContent{kind, base64.StdEncoding.EncodeToString(c.Data), c.MIME}, nil
	}
	return nil, fault.Newf(fault.Internal, "content of type %q is neither an image nor audio, and has no URI", c.MIME)
}

// maxPicture bounds the pictures that are shown beside the links to them, in bytes: a model
// reads them with the result.
const maxPicture = 256 << 10

// pictures are the types of pictures that models read.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// withPictures adds to each link to a small picture the picture itself, if the client may read
// it.
func (c toolCalls) withPictures(p peer, all []catalog.Content) []catalog.Content {
	var out []catalog.Content
	for _, one := range all {
		out = append(out, one)
		if !one.Link || one.Size > maxPicture || !slices.Contains(pictures, one.MIME) {
			continue
		}
		v := p.view(c.server)
		d, name := find(v, one.URI)
		if d == nil {
			continue
		}
		ctx, stop := deadline.WithTimeout(auth.With(context.Background(), p.principal), c.server.now().ToolTimeout, invoke.TimeUp)
		if raw, err := d.Read(ctx, v, name); err == nil && len(raw) <= maxPicture {
			out = append(out, catalog.Content{Data: raw, MIME: one.MIME})
		}
		stop()
	}
	return out
}

// presentation is a list of contents on the wire.
func presentation(p peer, all []catalog.Content) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, c := range all {
		b, err := block(p, c)
		if err != nil {
			return nil, err
		}
		raw, err := invoke.Encode(b)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}
