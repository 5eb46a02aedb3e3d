// Command bundle makes the files of the console's page from its sources and the npm packages beside them:
// web/dist, which is committed and embedded.
//
// What belongs here: how sources become files. Not here: what runs when a server serves
// them.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	web := "web"
	if len(os.Args) > 1 {
		web = os.Args[1]
	}
	if err := write(web); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// write replaces the files of dist.
func write(web string) error {
	made, err := bundle(web)
	if err != nil {
		return err
	}
	dist := filepath.Join(web, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, text := range made {
		packed, err := compress(text)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, name+".gz"), packed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// bundle returns the files of the page by name.
func bundle(web string) (map[string][]byte, error) {
	if _, err := os.Stat(filepath.Join(web, "node_modules")); err != nil {
		return nil, fmt.Errorf("%w: `make setup` installs the packages", err)
	}
	dir, err := filepath.Abs(web)
	if err != nil {
		return nil, err
	}
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: dir, Outdir: dir,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/app.js", OutputPath: "app"}, {InputPath: "src/editor.js", OutputPath: "editor"}, {InputPath: "src/types-worker.js", OutputPath: "types"},
		},
		Bundle: true, Splitting: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022, ChunkNames: "shared-[hash]",
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8,
		// What the compiler would need outside a browser.
		External: []string{"fs", "path", "os", "inspector", "source-map-support", "perf_hooks", "crypto"},
		Plugins:  []api.Plugin{libraries(dir)}, LogLevel: api.LogLevelSilent, Write: false,
	})
	if len(built.Errors) > 0 {
		return nil, errors.New(api.FormatMessages(built.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})[0])
	}
	out := map[string][]byte{}
	for _, f := range built.OutputFiles {
		out[filepath.Base(f.Path)] = f.Contents
	}
	page, err := os.ReadFile(filepath.Join(dir, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	out["index.html"] = page
	return out, nil
}

// library matches the declarations of what scripts have of the language: up to ES2023, without
// what belongs to browsers.
var library = regexp.MustCompile(`^lib\.(es5|es20(1[5-9]|2[0-3])(\.[a-z.]+)?|decorators(\.legacy)?)\.d\.ts$`)

// libraries has the module "typescript-libraries" be an object of these declarations by file.
func libraries(dir string) api.Plugin {
	return api.Plugin{Name: "libraries", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^typescript-libraries$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "typescript-libraries", Namespace: "libraries"}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "libraries"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			folder := filepath.Join(dir, "node_modules", "typescript", "lib")
			entries, err := os.ReadDir(folder)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			texts := map[string]string{}
			for _, e := range entries {
				if !library.MatchString(e.Name()) {
					continue
				}
				raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
				if err != nil {
					return api.OnLoadResult{}, err
				}
				texts[e.Name()] = string(raw)
			}
			raw, err := json.Marshal(texts)
			text := string(raw)
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJSON}, err
		})
	}}
}
