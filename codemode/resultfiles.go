package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// onLargeFile is the value of `onLarge` with which values that are too large to be returned
// become files (CONTRACT section 11).
const onLargeFile = "file"

// maxLargeResult bounds the result and the answer of a script where they may become files, in
// bytes each.
const maxLargeResult = 8 << 20

// resultFile is a file in a result.
type resultFile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// keepLarge replaces the result and the answer, where they are too large to be returned, by
// files: {"$file": id, "size", "type"}. Of two that the caller cannot take together, the larger one becomes a file.
func (e *execution) keepLarge(ctx context.Context, a *run.Attempt, res *wire.Result) error {
	most, limited := run.ResultRoom(ctx)
	for _, raw := range res.Emitted {
		most -= len(raw)
	}
	type named struct {
		name  string
		value *json.RawMessage
	}
	both := []named{{"result.json", &res.Result}, {"answer.json", &res.Answer}}
	slices.SortStableFunc(both, func(a, b named) int { return len(*b.value) - len(*a.value) })
	for _, one := range both {
		size := len(*one.value)
		if size <= e.own.MaxResultBytes && (!limited || len(res.Result)+len(res.Answer) <= most || size < handleBytes) {
			continue
		}
		handle, err := e.keepInFile(ctx, a, one.name, *one.value)
		if err != nil {
			return err
		}
		*one.value = handle
	}
	return nil
}

// handleBytes is from how many bytes on a value is larger than the handle of its file.
const handleBytes = 256

// keepInFile stores a value, and returns the handle of its file.
func (e *execution) keepInFile(ctx context.Context, a *run.Attempt, name string, value json.RawMessage) (json.RawMessage, error) {
	if replaying(ctx) != nil { // the comparison has seen the value
		return json.RawMessage(fmt.Sprintf(`{"$file":null,"size":%d,"type":"application/json"}`, len(value))), nil
	}
	in, err := json.Marshal(map[string]string{"name": name, "type": "application/json", "text": string(value)})
	if err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	raw, err := a.Invoke(ctx, a.Next(), catalog.PluginID("files", "create"), in)
	if err != nil {
		return nil, err
	}
	var f resultFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	handle, err := json.Marshal(map[string]any{"$file": f.ID, "size": f.Size, "type": f.Type})
	if err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	e.files = append(e.files, raw)
	return handle, nil
}

// filesOf returns what is known of the files that a script put into its result.
func (h *callNotes) filesOf(res *wire.Result) []json.RawMessage {
	var out []json.RawMessage
	for _, id := range res.Files {
		if raw, ok := h.files[id]; ok {
			out = append(out, raw)
		}
	}
	return out
}

// presentFiles has clients show the files in a result beside it.
func presentFiles(output json.RawMessage) []catalog.Content {
	var out struct{ Files []resultFile }
	if json.Unmarshal(output, &out) != nil || len(out.Files) == 0 {
		return nil
	}
	blocks := []catalog.Content{{Text: string(output)}}
	for _, f := range out.Files {
		blocks = append(blocks, catalog.Content{URI: "koan://files/" + f.ID, Link: true, Name: f.Name, MIME: f.Type, Size: f.Size})
	}
	return blocks
}
