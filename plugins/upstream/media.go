package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	filemedia "github.com/koan-go/koan/plugins/internal/media"
)

// media is a block of content with bytes in it: an image, sound, or an embedded resource.
type media struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
	Resource *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     []byte  `json:"blob"`
	} `json:"resource"`
}

// isMedia reports whether blocks of a type become files.
func isMedia(blockType string) bool {
	return blockType == "image" || blockType == "audio" || blockType == "resource"
}

// keepMedia keeps a block's content as a file, and returns the file's handle. A block that cannot be
// kept comes as the server sent it, with its bytes in base64: the app keeps no files, or the content
// is none or too large. A limit that the file exceeds ends the run all the same (Attempt.count).
func (s *results) keepMedia(ctx context.Context, r *request, raw json.RawMessage) json.RawMessage {
	var m media
	if err := json.Unmarshal(raw, &m); err != nil {
		return raw // the bytes are not base64
	}
	in := map[string]string{"type": m.MIMEType, "base64": base64.StdEncoding.EncodeToString(m.Data), "name": r.tool}
	if m.Resource != nil {
		in = map[string]string{"type": m.Resource.MIMEType, "base64": base64.StdEncoding.EncodeToString(m.Resource.Blob), "name": path.Base(m.Resource.URI)}
		if m.Resource.Text != nil {
			delete(in, "base64")
			in["text"] = *m.Resource.Text
		}
	}
	input, err := json.Marshal(in)
	if err != nil {
		return raw
	}
	out, err := r.call.Invoke(ctx, catalog.PluginID("files", "create"), input)
	if err != nil {
		if fault.CodeOf(err) != fault.CapabilityUnsupported {
			s.log.Warn("content of an upstream server's result is not kept as a file", "upstream", s.cfg.ID, "tool", r.tool, "error", err)
		}
		return raw
	}
	var f struct {
		ID, Name, Type string
		Size           int64
	}
	if err := json.Unmarshal(out, &f); err != nil {
		return raw
	}
	handle, err := json.Marshal(filemedia.Handle{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
	if err != nil {
		return raw
	}
	return handle
}

// whole returns a result as the server sent it, for catalog.WithWholeResult. Where media become files,
// their blocks have `file` in place of their bytes.
func (s *results) whole(ctx context.Context, r *request, raw json.RawMessage, res *callResult) (json.RawMessage, error) {
	if catalog.KeepsMediaInPlace(ctx) {
		value, err := s.valueOf(ctx, r, raw, res)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]json.RawMessage{"value": value, "result": raw})
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if len(res.Content) > 0 {
		blocks := make([]json.RawMessage, len(res.Content))
		for i, c := range res.Content {
			var err error
			if blocks[i], err = s.withFile(ctx, r, c); err != nil {
				return nil, err
			}
		}
		content, err := json.Marshal(blocks)
		if err != nil {
			return nil, err
		}
		members["content"] = content
	}
	result, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{"result": result})
}

// withFile returns a block of content with its bytes kept as a file, where they can be.
func (s *results) withFile(ctx context.Context, r *request, raw json.RawMessage) (json.RawMessage, error) {
	var b block
	if json.Unmarshal(raw, &b) != nil || !isMedia(b.Type) {
		return raw, nil
	}
	kept := s.keepMedia(ctx, r, raw)
	var f filemedia.Handle
	if json.Unmarshal(kept, &f) != nil || f.ID == "" {
		return raw, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	delete(members, "data")
	if resource := members["resource"]; resource != nil {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(resource, &inner); err != nil {
			return nil, err
		}
		delete(inner, "text")
		delete(inner, "blob")
		encoded, err := json.Marshal(inner)
		if err != nil {
			return nil, err
		}
		members["resource"] = encoded
	}
	members["file"] = kept
	return json.Marshal(members)
}
