package upstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// fileHandle stands in a result for the content of a file (CONTRACT sections 8 and 11): a script
// reads the file by its id, and gives the handle as it is to a plugin or a server.
type fileHandle struct {
	ID   string `json:"$file"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

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
func (s *server) keepMedia(ctx context.Context, r *request, raw json.RawMessage) json.RawMessage {
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
	handle, err := json.Marshal(fileHandle{f.ID, f.Name, f.Type, f.Size})
	if err != nil {
		return raw
	}
	return handle
}
