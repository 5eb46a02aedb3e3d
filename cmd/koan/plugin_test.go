package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/kit"
)

type weatherIn struct {
	City string `json:"city"`
}

type weatherOut struct {
	City string `json:"city"`
	Sky  string `json:"sky"`
}

// second is the end of the file of the second build of the plugin.
const second = "the second build"

// serveWeather is the plugin of the scripts: this binary, under its name.
func serveWeather() {
	var sky string
	lookup := func(_ context.Context, _ kit.Call, in weatherIn) (weatherOut, error) {
		return weatherOut{in.City, sky}, nil
	}
	p := kit.Plugin{
		Domain: "weather", Version: "1.0.0", Description: "Knows the weather.",
		Settings:  []kit.Setting{{Key: "sky", Default: "clear"}},
		Configure: func(_ context.Context, s map[string]string) error { sky = s["sky"]; return nil },
		Functions: []kit.Function{kit.Func("lookup", "Look up the sky.", lookup, kit.ReadOnly(), kit.Example(weatherIn{"Oslo"}))},
	}
	if isSecond() {
		p.Version = "2.0.0"
		p.Functions = []kit.Function{
			kit.Func("lookup", "Look up the sky.", lookup, kit.Destructive()),
			kit.Func("change", "Change the sky.", lookup, kit.Outside()),
		}
	}
	kit.Serve(p)
}

func isSecond() bool {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	raw, err := os.ReadFile(self)
	if err != nil {
		panic(err)
	}
	return strings.HasSuffix(string(raw), second)
}

// weatherBuilds makes a folder with builds of the plugin, and with archives.
func weatherBuilds(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	raw, err := os.ReadFile(self)
	require.NoError(t, err)
	dir := t.TempDir()
	for version, content := range map[string][]byte{"v1": raw, "v2": append(raw[:len(raw):len(raw)], second...)} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "weather"), content, 0o755))
	}
	pack(t, filepath.Join(dir, "weather-1.0.tar.gz"), map[string]string{"weather-1.0/weather": string(raw), "weather-1.0/names.txt": "Oslo"})
	zipped, err := os.Create(filepath.Join(dir, "weather.zip"))
	require.NoError(t, err)
	z := zip.NewWriter(zipped)
	for name, content := range map[string][]byte{"weather/weather": raw, "weather/._weather": nil, "weather/names.txt": []byte("Oslo"), "__MACOSX/weather/._weather": nil} {
		w, err := z.Create(name) // without a mode, as on Windows
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, zipped.Close())
	pack(t, filepath.Join(dir, "escape.tar.gz"), map[string]string{"../weather": string(raw)})
	return dir
}

func pack(t *testing.T, to string, files map[string]string) {
	t.Helper()
	f, err := os.Create(to)
	require.NoError(t, err)
	zipped := gzip.NewWriter(f)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		mode := int64(0o644)
		if filepath.Base(name) == "weather" {
			mode = 0o755
		}
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	require.NoError(t, f.Close())
}
