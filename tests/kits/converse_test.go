package kits_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// office is the fixture's app with the plugin.
func office(t *testing.T, l language, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	dir := t.TempDir()
	if read := l.plugin(t, dir); len(read) > 0 {
		settings = append(settings, set("read", "["+strings.Join(read, ", ")+"]"))
	}
	settings = append(settings, koantest.Setting{Key: "plugins.dir", Value: dir}, koantest.Setting{Key: "files.dir", Value: t.TempDir()}, set("isolation", "confined"))
	return koantest.New(t, fixture.App(), settings...)
}

// What a plugin calls is part of the caller's run, and needs the operator's grant.
func TestPluginsCallTheApp(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		k := office(t, l, set("grants", "[koan::Todo.create, koan::Todo.count, koan::Todo.patch]"))
		const ask = `const ask = (operation, input) => SDK.Weather.ask({ operation, input }).got;`
		r := k.Run(ask+`
			ask("koan::Todo.create", { model: { id: "t1", title: "Read", views: 9007199254740993n } });
			const views = SDK.Entities.Todo.getById("t1").views;
			SDK.Out.answer([ask("koan::Todo.count", {}), String(views)]);`, koantest.Input{})
		require.JSONEq(t, `[{"count":2},"9007199254740993"]`, string(r.Answer), "whole numbers stay whole on all ways")
		dry := k.Run(ask+`ask("koan::Todo.create", { model: { id: "t2", title: "Write" } }); SDK.Out.answer(ask("koan::Todo.count", {}))`, koantest.Input{DryRun: true})
		require.JSONEq(t, `{"count":3}`, string(dry.Answer))
		require.JSONEq(t, `{"count":2}`, string(k.Run(ask+`SDK.Out.answer(ask("koan::Todo.count", {}))`, koantest.Input{}).Answer), "a dry run leaves nothing behind")

		f := k.Try(ask+`ask("koan::Todo.delete", { id: "t1" })`, koantest.Input{}).Error
		require.Equal(t, fault.Forbidden, f.Code)
		require.Contains(t, f.Hint, "plugins.weather.grants")
		f = k.Try(ask+`ask("koan::Todo.patch", { id: "nobody", changes: { title: "x" } })`, koantest.Input{}).Error
		require.Equal(t, fault.NotFound, f.Code, "a fault of the app's is passed on as it is")
	})
}

func TestPluginsCopyFiles(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		k := office(t, l)
		files, err := k.Instance().Files(auth.Local(), "create")
		require.NoError(t, err)
		data := make([]byte, 9<<20+7)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
		f, err := files.Put(t.Context(), framework.Upload{Name: "a.bin", Set: "default", Owner: auth.Local().Subject, Body: bytes.NewReader(data)})
		require.NoError(t, err)
		raw, err := k.Call("plugin::weather.copy", map[string]any{"file": map[string]any{"$file": f.ID}})
		require.NoError(t, err)
		var out struct {
			File struct {
				ID   string `json:"$file"`
				Name string `json:"name"`
			} `json:"file"`
			Size int `json:"size"`
		}
		require.NoError(t, json.Unmarshal(raw, &out))
		require.Equal(t, len(data), out.Size)
		require.Equal(t, "copy of a.bin", out.File.Name)
		made, _, err := files.Bytes(t.Context(), auth.Local(), out.File.ID, 1<<30)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, made))

		r := k.Run(`
			const file = SDK.Files.create({ name: "note.txt", text: "hello" });
			const copy = SDK.Weather.copy({ file: { $file: file.id } }).file;
			SDK.Out.answer(SDK.Files.text(SDK.Weather.copy({ file: copy }).file.$file));`, koantest.Input{})
		require.JSONEq(t, `"hello"`, string(r.Answer))
		_, err = k.Call("plugin::weather.copy", map[string]any{"file": map[string]any{"$file": "file_none"}})
		require.Equal(t, fault.NotFound, fault.CodeOf(err))
	})
}

func TestPluginsKeepState(t *testing.T) {
	each(t, func(t *testing.T, l language) {
		state := t.TempDir()
		for _, want := range []string{`{"count":1}`, `{"count":2}`} { // of one process each
			k := office(t, l, koantest.Setting{Key: "plugins.stateDir", Value: state})
			out, err := k.Call("plugin::weather.count", map[string]any{})
			require.NoError(t, err)
			require.JSONEq(t, want, string(out))
		}
		entries, err := os.ReadDir(state)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, "weather", entries[0].Name())
	})
}
