package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
)

type entry struct {
	File string `json:"file"`           // in the folder of the state, unless it is absolute
	Text string `json:"text,omitempty"` // to be added
}

type diaryOut struct {
	Text  string `json:"text"`  // of the file afterwards
	Error string `json:"error"` // why there is none
	Dir   string `json:"dir"`
}

// diary is a plugin that adds to files.
func diary(domain string) kit.Plugin {
	write := func(_ context.Context, call kit.Call, in entry) (diaryOut, error) {
		out := diaryOut{Dir: call.StateDir()}
		path := in.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(call.StateDir(), path)
		}
		if in.Text != "" {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString(in.Text)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				out.Error = err.Error()
				return out, nil
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			out.Error = err.Error()
		}
		out.Text = string(text)
		return out, nil
	}
	return kit.Plugin{
		Domain: domain, Version: "1.0.0", Description: "Keeps a diary.", State: domain == "diary",
		Functions: []kit.Function{kit.Func("write", "Add to a file.", write)},
	}
}

func diaries(t *testing.T, app framework.App, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return koantest.New(t, app, append([]koantest.Setting{set("plugins.dir", folderOf(t, "diary", "notebook"))}, settings...)...)
}

func write(t *testing.T, k *koantest.Kit, plugin string, in entry) (out diaryOut) {
	t.Helper()
	raw, err := k.Call("plugin::"+plugin+".write", in)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// What a plugin keeps in its folder stays, and is no other plugin's.
func TestPluginKeepsState(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for _, want := range []string{"Monday.", "Monday.Monday."} {
		k := diaries(t, fixture.App(), set("plugins.stateDir", state))
		out := write(t, k, "diary", entry{"days", "Monday."})
		require.Equal(t, diaryOut{Text: want, Dir: filepath.Join(state, "diary")}, out)
		other := write(t, k, "notebook", entry{File: filepath.Join(state, "diary", "days")})
		require.NotEmpty(t, other.Error, "it is no other plugin's")
		require.Empty(t, other.Dir, "one that asks for none has none")
		for _, elsewhere := range []string{filepath.Join(state, "beside"), filepath.Join(k.Instance().Values().String("plugins.dir"), "x")} {
			write(t, k, "diary", entry{elsewhere, "x"})
			require.NoFileExists(t, elsewhere)
		}
	}
	info, err := os.Stat(filepath.Join(state, "diary"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoDirExists(t, filepath.Join(state, "notebook"))
}

// A folder of state that holds more than it may stops its plugin, until there is room.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	k := diaries(t, fixture.App(), set("plugins.stateDir", state), set("plugins.diary.stateMb", "1"))
	write(t, k, "diary", entry{"days", strings.Repeat("x", 2<<20)})
	require.Eventually(t, func() bool { return !checkOf(t, k, "diary").OK }, 20*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(checkOf(t, k, "diary").Detail, "has 2 MB in the folder of its state and may have 1 (stateMb)")
	}, 20*time.Second, 50*time.Millisecond)
	require.NoError(t, os.Remove(filepath.Join(state, "diary", "days")))
	require.Eventually(t, func() bool { return checkOf(t, k, "diary").OK }, 40*time.Second, 50*time.Millisecond)
	require.Equal(t, "y", write(t, k, "diary", entry{"days", "y"}).Text)
}

// Where nothing is configured, the folder is beside the app's data, or in that of the user.
func TestPlaceOfState(t *testing.T) {
	data, home := t.TempDir(), t.TempDir()
	t.Setenv("XDG_DATA_HOME", home)
	k := diaries(t, fixture.App(), set("database", "sqlite://"+data))
	require.Equal(t, filepath.Join(data, "plugins", "diary"), write(t, k, "diary", entry{"days", "x"}).Dir)
	k = diaries(t, framework.App{Name: "bare"})
	require.Equal(t, filepath.Join(home, "bare", "plugins", "diary"), write(t, k, "diary", entry{"days", "x"}).Dir)
}

// Without a folder the plugin does not start, and the others do.
func TestStateWithoutAPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	k := diaries(t, fixture.App(), set("plugins.stateDir", file))
	require.Empty(t, write(t, k, "notebook", entry{File: "/tmp/x", Text: "x"}).Error)
	for _, c := range k.Instance().Checks(t.Context()) {
		if c.Name == "plugin diary" {
			require.False(t, c.OK)
			require.Contains(t, c.Detail, "plugins.stateDir")
			require.True(t, strings.Contains(c.Detail, "not a directory"), c.Detail)
		}
	}
}
