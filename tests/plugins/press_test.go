package plugins_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
)

type copying struct {
	From     kit.File `json:"from"`
	Name     string   `json:"name,omitempty"`
	Open     bool     `json:"open,omitempty"`     // leaves the copy open
	Fail     bool     `json:"fail,omitempty"`     // after the copy
	Backward bool     `json:"backward,omitempty"` // reads the last byte first
	Pieces   int      `json:"pieces,omitempty"`   // bytes of a read, 0 for what suits
	Copies   int      `json:"copies,omitempty"`   // at the same time
}

type copied struct {
	Copy   *kit.File `json:"copy"`
	SHA256 string    `json:"sha256"`
	From   kit.File  `json:"from"`
	Last   int       `json:"last"`
}

// dot is a picture of one pixel.
var dot, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg==")

type sheet struct {
	Picture []byte `json:"picture" jsonschema_extras:"contentMediaType=image/png"`
	Raw     []byte `json:"raw"`
	Number  int64  `json:"number"`
}

type drawn struct {
	Cover  []byte           `json:"cover,omitempty" jsonschema_extras:"contentMediaType=image/png" jsonschema_description:"The first one."`
	Sheets []sheet          `json:"sheets"`
	ByName map[string]sheet `json:"byName"`
	Back   *sheet           `json:"back"`
}

type exporting struct {
	Table int `json:"table,omitempty"` // characters of each member of the output
	Photo int `json:"photo,omitempty"` // bytes
	Other int `json:"other,omitempty"`
}

type exported struct {
	Table string `json:"table"           jsonschema_extras:"contentMediaType=text/csv" jsonschema_description:"All rows."`
	Photo []byte `json:"photo,omitempty" jsonschema_extras:"contentMediaType=image/png"`
	Other string `json:"other"`
}

func export(_ context.Context, _ kit.Call, in exporting) (exported, error) {
	return exported{strings.Repeat("a,b\n", in.Table/4), bytes.Repeat(dot, in.Photo/len(dot)), strings.Repeat("o", in.Other)}, nil
}

// press is a plugin that copies files.
func press() kit.Plugin {
	duplicate := func(ctx context.Context, call kit.Call, in copying) (copied, error) {
		var out copied
		from, err := call.File(ctx, in.From.ID)
		if err != nil {
			return out, err
		}
		out.From = from.File
		if in.Backward {
			last := make([]byte, 1)
			if _, err := from.ReadAt(last, from.Size()-1); err != nil {
				return out, err
			}
			out.Last = int(last[0])
		}
		var to []io.Writer
		var made []*kit.CreatedFile
		for range max(1, in.Copies) {
			f, err := call.CreateFile(ctx, in.Name, "")
			if err != nil {
				return out, err
			}
			made, to = append(made, f), append(to, f)
		}
		sum := sha256.New()
		all := io.MultiWriter(append(to, sum)...)
		if in.Pieces > 0 {
			_, err = io.CopyBuffer(struct{ io.Writer }{all}, struct{ io.Reader }{from}, make([]byte, in.Pieces))
		} else {
			_, err = io.Copy(all, from)
		}
		if err != nil || in.Open {
			return out, err
		}
		for _, f := range made {
			if err := f.Close(); err != nil {
				return out, err
			}
			handle := f.Handle()
			out.Copy = &handle
		}
		out.SHA256 = hex.EncodeToString(sum.Sum(nil))
		if in.Fail {
			return out, errors.New("as it was told")
		}
		return out, nil
	}
	size := func(_ context.Context, _ kit.Call, in struct {
		Picture string `json:"picture"`
	}) (struct {
		Characters int `json:"characters"`
	}, error,
	) {
		return struct {
			Characters int `json:"characters"`
		}{len(in.Picture)}, nil
	}
	draw := func(_ context.Context, _ kit.Call, in struct {
		Empty bool `json:"empty,omitempty"`
	},
	) (drawn, error) {
		if in.Empty {
			return drawn{}, nil
		}
		one := sheet{Picture: dot, Raw: dot, Number: 9007199254740993}
		return drawn{Cover: dot, Sheets: []sheet{one, one}, ByName: map[string]sheet{"a": one}, Back: &one}, nil
	}
	return kit.Plugin{
		Domain: "press", Version: "1.0.0", Description: "Copies files.",
		Functions: []kit.Function{kit.Func("copy", "Copy a file.", duplicate), kit.Func("draw", "Draw dots.", draw, kit.ReadOnly()), kit.Func("export", "Export rows.", export, kit.ReadOnly()), kit.Func("size", "Say how long base64 is.", size, kit.ReadOnly())},
	}
}

// printing is the fixture's app with the plugin press.
func printing(t *testing.T, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return koantest.New(t, fixture.App(), append(settings, set("plugins.dir", folderOf(t, "press")), set("files.dir", t.TempDir()))...)
}

// keep uploads a file as the local operator.
func keep(t *testing.T, k *koantest.Kit, name string, body io.Reader) framework.File {
	t.Helper()
	files, err := k.Instance().Files(auth.Local(), "create")
	require.NoError(t, err)
	f, err := files.Put(t.Context(), framework.Upload{Name: name, Set: "default", Owner: auth.Local().Subject, Body: body})
	require.NoError(t, err)
	return f
}

// duplicate calls the plugin.
func duplicate(t *testing.T, k *koantest.Kit, in copying) (copied, error) {
	t.Helper()
	raw, err := k.Call("plugin::press.copy", in)
	var out copied
	if err == nil {
		require.NoError(t, json.Unmarshal(raw, &out))
	}
	return out, err
}

func TestPluginReadsAndWritesFiles(t *testing.T) {
	t.Parallel()
	k := printing(t)
	text := strings.Repeat("all work and no play\n", 100_000) + "!"
	f := keep(t, k, "work.txt", strings.NewReader(text))
	for name, in := range map[string]copying{"as it suits": {}, "small": {Pieces: 1000}, "odd": {Pieces: 70_001}, "backward": {Backward: true}, "several": {Copies: 16}} {
		t.Run(name, func(t *testing.T) {
			in.From, in.Name = kit.File{ID: f.ID}, "copy.txt"
			out, err := duplicate(t, k, in)
			require.NoError(t, err)
			require.Equal(t, f.SHA256, out.SHA256)
			require.Equal(t, kit.File{ID: f.ID, Name: "work.txt", Type: f.Type, Size: int64(len(text))}, out.From)
			require.Equal(t, kit.File{ID: out.Copy.ID, Name: "copy.txt", Type: f.Type, Size: int64(len(text))}, *out.Copy)
			if in.Backward {
				require.Equal(t, int('!'), out.Last)
			}
			files, err := k.Instance().Files(auth.Local(), "get")
			require.NoError(t, err)
			raw, _, err := files.Bytes(t.Context(), auth.Local(), out.Copy.ID, 1<<30)
			require.NoError(t, err)
			require.Equal(t, text, string(raw))
		})
	}
	t.Run("in a script, as a handle", func(t *testing.T) {
		var got struct {
			Text string
			Size int
		}
		k.Run(`
			const file = SDK.Files.create({name: "note.txt", text: "hello"});
			const made = SDK.Press.copy({from: {$file: file.id}, name: "again.txt"});
			const more = SDK.Press.copy({from: made.copy});
			SDK.Out.answer({text: SDK.Files.text(more.copy.$file), size: SDK.Press.size({picture: made.copy}).characters});`, koantest.Input{}).AnswerInto(&got)
		require.Equal(t, "hello", got.Text)
		require.Equal(t, 8, got.Size, "a function that takes no handles gets base64")
	})
	t.Run("too many at a time", func(t *testing.T) {
		_, err := duplicate(t, k, copying{From: kit.File{ID: f.ID}, Copies: 17})
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		require.Contains(t, err.Error(), "at most 16 files")
	})
}

// Pictures in an output become files, with handles in their place; other bytes stay.
func TestPicturesBecomeFiles(t *testing.T) {
	t.Parallel()
	k := printing(t)
	raw, err := k.Call("plugin::press.draw", map[string]any{})
	require.NoError(t, err)
	type sheet struct {
		Picture kit.File
		Raw     []byte
		Number  json.Number
	}
	var out struct {
		Cover  kit.File
		Sheets []sheet
		ByName map[string]sheet
		Back   sheet
	}
	require.NoError(t, json.Unmarshal(raw, &out))
	files, err := k.Instance().Files(auth.Local(), "get")
	require.NoError(t, err)
	for _, s := range append(out.Sheets, out.ByName["a"], out.Back, sheet{Picture: out.Cover, Raw: dot, Number: "9007199254740993"}) {
		require.Equal(t, dot, s.Raw)
		require.Equal(t, json.Number("9007199254740993"), s.Number)
		require.Equal(t, kit.File{ID: s.Picture.ID, Name: "draw", Type: "image/png", Size: int64(len(dot))}, s.Picture)
		content, _, err := files.Bytes(t.Context(), auth.Local(), s.Picture.ID, 1<<20)
		require.NoError(t, err)
		require.Equal(t, dot, content)
	}
	var declared struct {
		Properties struct {
			Cover struct{ Type, Description string }
		}
	}
	require.NoError(t, json.Unmarshal(k.Instance().Snapshot().Operation(catalog.PluginID("press", "draw")).Output, &declared))
	require.Equal(t, "object", declared.Properties.Cover.Type)
	require.Equal(t, "The first one.", declared.Properties.Cover.Description)
	_, err = k.Call("plugin::press.draw", map[string]any{"empty": true})
	require.NoError(t, err)
	var size int
	k.Run(`SDK.Out.answer(SDK.Press.size({picture: SDK.Press.draw().cover}).characters)`, koantest.Input{}).AnswerInto(&size)
	require.Equal(t, base64.StdEncoding.EncodedLen(len(dot)), size)

	none := koantest.New(t, framework.App{Name: "bare"}, set("plugins.dir", folderOf(t, "press")))
	raw, err = none.Call("plugin::press.draw", map[string]any{})
	require.NoError(t, err)
	require.Contains(t, string(raw), `"cover":"iVBOR`, "an app that keeps no files leaves them where they are")
}

// Long texts of a media type become files, as do photos of any size that a message has; what else is long is refused.
func TestLargeOutputsBecomeFiles(t *testing.T) {
	t.Parallel()
	k := printing(t)
	files, err := k.Instance().Files(auth.Local(), "get")
	require.NoError(t, err)
	call := func(in exporting) (map[string]json.RawMessage, error) {
		raw, err := k.Call("plugin::press.export", in)
		var out map[string]json.RawMessage
		if err == nil {
			require.NoError(t, json.Unmarshal(raw, &out))
		}
		return out, err
	}
	out, err := call(exporting{Table: 64 << 10})
	require.NoError(t, err)
	require.Equal(t, byte('"'), out["table"][0], "what is short stays a text")

	out, err = call(exporting{Table: 9 << 20, Photo: 8 << 20})
	require.NoError(t, err)
	for name, wants := range map[string]struct {
		mediaType string
		size      int
	}{"table": {"text/csv", 9 << 20}, "photo": {"image/png", 8 << 20 / len(dot) * len(dot)}} {
		var f kit.File
		require.NoError(t, json.Unmarshal(out[name], &f), name)
		require.Equal(t, kit.File{ID: f.ID, Name: "export", Type: wants.mediaType, Size: int64(wants.size)}, f)
		content, _, err := files.Bytes(t.Context(), auth.Local(), f.ID, 16<<20)
		require.NoError(t, err)
		require.Len(t, content, wants.size)
	}
	k.Run(`const f = SDK.Press.export({table: 1000000}).table; SDK.Out.answer(SDK.Files.text(f.$file).length)`, koantest.Input{}).AnswerInto(new(int))

	_, err = call(exporting{Other: 5 << 20})
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err), "%v", err)
	require.Contains(t, fault.From(err).Hint, "as files")
	_, err = call(exporting{Photo: 20 << 20})
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err), "%v", err)

	var declared struct {
		Properties struct {
			Table struct {
				Description string
				AnyOf       []struct{ Type string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(k.Instance().Snapshot().Operation(catalog.PluginID("press", "export")).Output, &declared))
	require.Equal(t, "All rows.", declared.Properties.Table.Description)
	require.Equal(t, []struct{ Type string }{{"string"}, {"object"}}, declared.Properties.Table.AnyOf)
}

// A plugin reads what its caller may read.
func TestPluginReadsFilesOfItsCaller(t *testing.T) {
	t.Parallel()
	k := printing(t)
	f := keep(t, k, "secret.txt", strings.NewReader("mine"))
	other := k.As(auth.Principal{Subject: "rea", Scopes: []string{"plugins:call"}, Sets: []string{"default"}})
	for _, id := range []string{f.ID, "file_00000000000000000000000000000000", "../../etc/passwd", ""} {
		_, err := duplicate(t, other, copying{From: kit.File{ID: id}})
		require.Equal(t, fault.NotFound, fault.CodeOf(err), id)
	}
}

// What a call does not finish is not kept, and neither is what a run made that leaves nothing behind.
func TestFilesThatAreNotKept(t *testing.T) {
	t.Parallel()
	k := printing(t, set("files.maxBytes", "1048576"))
	f := keep(t, k, "work.txt", bytes.NewReader(bytes.Repeat([]byte("0123456789"), 100_000)))
	kept := func() (n int) {
		found, err := filepath.Glob(filepath.Join(k.Instance().Values().String("files.dir"), "records", "*"))
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, 1, kept())
	_, err := duplicate(t, k, copying{From: kit.File{ID: f.ID}, Open: true})
	require.NoError(t, err)
	require.Equal(t, 1, kept(), "not closed")
	_, err = duplicate(t, k, copying{From: kit.File{ID: f.ID}, Fail: true})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.Equal(t, 1, kept(), "the run has failed")
	k.Run(`SDK.Press.copy({from: SDK.args}).copy`, koantest.Input{Args: kit.File{ID: f.ID}, DryRun: true})
	require.Equal(t, 1, kept(), "a dry run")
	_, err = duplicate(t, k, copying{From: kit.File{ID: f.ID}})
	require.NoError(t, err)
	require.Equal(t, 2, kept())
}

// endless is a file of a size without its bytes.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := range p[:n] {
		p[i] = byte(e.left >> (i % 5))
	}
	e.left -= int64(n)
	return n, nil
}

// A file of any size goes in and out without being held.
func TestLargeFilesAreStreams(t *testing.T) {
	const size = 64 << 20
	k := printing(t, set("files.maxBytes", fmt.Sprint(size)), set("files.callerBytes", fmt.Sprint(4*size)), set("files.totalBytes", fmt.Sprint(4*size)))
	f := keep(t, k, "large", &endless{size})
	small := keep(t, k, "small", strings.NewReader("small"))
	_, err := duplicate(t, k, copying{From: kit.File{ID: small.ID}}) // everything is there
	require.NoError(t, err)

	defer debug.SetGCPercent(debug.SetGCPercent(5)) // garbage is not what is measured
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapAlloc))
		}
	}()
	out, err := duplicate(t, k, copying{From: kit.File{ID: f.ID}})
	close(done)
	<-watched
	require.NoError(t, err)
	require.Equal(t, f.SHA256, out.SHA256)
	require.EqualValues(t, size, out.Copy.Size)
	grown := (int64(peak.Load()) - int64(before.HeapAlloc)) >> 10
	t.Logf("grew by %d KiB", grown)
	require.Less(t, grown, int64(8<<10))
}
