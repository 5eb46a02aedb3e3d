package plugins

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/media"
)

// withMedia returns a handler of a function of which pictures, sound and other media in base64 become files of the
// app, where it keeps some: its output and the schema of that have handles in their place.
func withMedia(p *plugin, op *catalog.Operation, handler catalog.Handler) catalog.Handler {
	found := media.Read(op.Output)
	if found == nil || p.provider == nil {
		return handler
	}
	if _, err := filesOf(p.provider.host); err != nil { // the bytes stay where they are
		return handler
	}
	output, err := found.WithHandles()
	if err != nil {
		return handler
	}
	op.Output = output
	return func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		out, err := handler(ctx, c)
		if err != nil {
			return nil, err
		}
		files, err := filesOf(p.provider.host)
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		dec.UseNumber()
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		value, err = found.Replace(value, func(mediaType string, content []byte) (media.Handle, error) {
			f, err := files.Create(ctx, c.Principal(), op.ID.Op, mediaType, bytes.NewReader(content))
			return media.HandleOf(f), err
		})
		if err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
}
