package plugins

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/media"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// withMedia returns the handler of a function of which pictures, sound and other media in base64, and long texts of a
// media type, become files of the app, where it keeps some: its output and the schema of that have handles in their
// place. What is left of the output is bounded as that of other functions.
func withMedia(p *plugin, op *catalog.Operation) catalog.Handler {
	plain := func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		return p.call(ctx, op, c, wire.MaxCallBytes)
	}
	found := media.Read(op.Output)
	if found == nil || p.provider == nil {
		return plain
	}
	if _, err := filesOf(p.provider.host); err != nil { // the bytes stay where they are
		return plain
	}
	output, err := found.WithHandles()
	if err != nil {
		return plain
	}
	op.Output = output
	return func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		out, err := p.call(ctx, op, c, wire.MaxMediaBytes)
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
		if out, err = json.Marshal(value); err == nil && len(out) > wire.MaxCallBytes {
			return nil, outputTooLarge(int64(len(out)), wire.MaxCallBytes)
		}
		return out, err
	}
}
