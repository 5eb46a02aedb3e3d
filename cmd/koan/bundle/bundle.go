// Package bundle packs an app's binary into a bundle that MCP clients install (.mcpb), and
// describes it for the MCP registry (server.json).
//
// What belongs here: what goes into both files, and the facts of a binary that they need.
// Not here: building binaries, and publishing.
package bundle

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Options are the options of `koan bundle`.
type Options struct {
	Binary   string   // of the app
	Serve    []string // the arguments with which it serves
	Gateway  bool     // it is the gateway, which needs a file with servers
	Config   string   // a configuration file to pack, "" for none
	AskData  bool     // the user chooses the folder of the data
	Out      string   // folder of the results
	Name     string   // "" is that of the binary
	Version  string   // "" is what the binary says of itself
	About    string   // one sentence; "" is what the binary says of itself
	Author   string
	License  string
	Registry string // name in the registry, such as io.github.ann/todo
	Download string // where the bundle can be downloaded
}

var (
	bundleName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
	// bundleVersion is the form of a semantic version, which clients and the registry compare.
	bundleVersion = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)
)

// Check reports what is wrong with the options themselves.
func (o Options) Check() error {
	if o.Author == "" {
		return errors.New("a bundle names its author: give it with --author")
	}
	if o.Name != "" && !bundleName.MatchString(o.Name) {
		return fmt.Errorf("--name takes letters, digits, dots, - and _, not %q", o.Name)
	}
	if o.Version != "" && !bundleVersion.MatchString(o.Version) {
		return fmt.Errorf("--version takes a semantic version such as 1.2.3, not %q", o.Version)
	}
	if o.Registry != "" && !registryName.MatchString(o.Registry) {
		return fmt.Errorf("--registry-name takes a name such as io.github.ann/todo, not %q", o.Registry)
	}
	if u, err := url.Parse(o.Download); o.Download != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("--download takes an https:// address, not %q", o.Download)
	}
	return nil
}

// app is what is packed.
type app struct {
	Options
	platform string // as bundles name it
	arch     string
	repo     string // of GitHub, "" where the module is not from there
	runs     bool   // on this machine
	tools    []tool
	secrets  []string          // variables that the configuration file names
	runtimes map[string]string // that its languages need
	files    []packed
}

// packed is one file of the bundle.
type packed struct {
	name string // slash-separated
	from string
	mode fs.FileMode
}

// platforms are the names of systems in a bundle.
var platforms = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}

// Run makes the bundle and, where it is known what to write, server.json.
func Run(o Options, out io.Writer) error {
	if o.Config != "" && !regular(o.Config) {
		return fmt.Errorf("--config %s: there is no such file", o.Config)
	}
	a, err := inspect(o)
	if err != nil {
		return err
	}
	manifest, err := a.manifest()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	file := filepath.Join(o.Out, fmt.Sprintf("%s-%s-%s-%s.mcpb", a.Name, a.Version, a.platform, a.arch))
	var b bytes.Buffer
	if err := a.pack(&b, manifest); err != nil {
		return err
	}
	if err := replace(file, b.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d files, %d tools, %.1f MB\n", file, len(a.files)+1, len(a.tools), float64(b.Len())/1e6)
	if !a.runs {
		fmt.Fprintf(out, "The tools are not listed in it: the binary is for %s on %s, and cannot be run here.\n", a.platform, a.arch)
	}
	sum := sha256.Sum256(b.Bytes())
	description, missing := a.server(filepath.Base(file), hex.EncodeToString(sum[:]))
	if missing != "" {
		fmt.Fprintf(out, "No server.json: %s.\n", missing)
		return nil
	}
	name := filepath.Join(o.Out, "server.json")
	if err := replace(name, description); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: publish it once %s can be downloaded.\n", name, filepath.Base(file))
	return nil
}

// replace writes a file as a whole.
func replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".bundle-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

var (
	notInName = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)
	// databaseKey finds the setting in the output of `keys`.
	databaseKey = regexp.MustCompile(`(?m)^database\s`)
	variable    = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// inspect reads what the binary says of itself, and finds what lies beside it.
func inspect(o Options) (*app, error) {
	info, err := buildinfo.ReadFile(o.Binary)
	if err != nil {
		return nil, fmt.Errorf("%s is not a binary that Go has built: %w", o.Binary, err)
	}
	built := map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	a := &app{Options: o, platform: platforms[built["GOOS"]], arch: built["GOARCH"]}
	if a.platform == "" {
		return nil, fmt.Errorf("%s is for %s; bundles are for linux, darwin and windows", o.Binary, built["GOOS"])
	}
	a.runs = built["GOOS"] == runtime.GOOS && built["GOARCH"] == runtime.GOARCH
	if rest, ok := strings.CutPrefix(info.Path, "github.com/"); ok {
		if parts := strings.Split(rest, "/"); len(parts) >= 2 {
			a.repo = parts[0] + "/" + parts[1]
		}
	}
	a.Name = cmp.Or(a.Name, notInName.ReplaceAllString(strings.TrimSuffix(filepath.Base(o.Binary), ".exe"), "-"))
	if a.runs {
		if err := a.ask(); err != nil {
			return nil, err
		}
	}
	if a.Version == "" {
		a.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if a.Version == "" || a.Version == "(devel)" {
		return nil, errors.New("the binary does not know its version: give it with --version")
	}
	a.About = cmp.Or(a.About, a.Name+", an MCP server made with Koan")
	return a, a.collect()
}

// askTime bounds what the binary takes to answer.
const askTime = time.Minute

// ask runs the binary for its version, its description and its tools.
func (a *app) ask() error {
	version, err := a.output("--version")
	if err != nil {
		return err
	}
	if fields := strings.Fields(string(version)); a.Version == "" && len(fields) > 0 {
		a.Version = fields[len(fields)-1]
	}
	if a.Gateway {
		return nil // its tools depend on the servers
	}
	help, err := a.output("--help")
	if err != nil {
		return err
	}
	if about, _, described := strings.Cut(string(help), "\n\n"); described && a.About == "" && !strings.Contains(about, "\n") {
		a.About = about
	}
	keys, err := a.output("keys")
	if err != nil {
		return fmt.Errorf("%s is not the binary of an app (leave it out to bundle the gateway): %w", a.Binary, err)
	}
	list := []string{"tools"}
	if databaseKey.Match(keys) { // else the app opens its own
		dir, err := os.MkdirTemp("", "koan-bundle-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		list = append(list, "--database", "sqlite://"+dir)
	}
	raw, err := a.output(list...)
	if err != nil {
		return err
	}
	var listed struct {
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(raw, &listed); err != nil {
		return fmt.Errorf("%s tools: %w", a.Binary, err)
	}
	a.tools = listed.Tools
	return nil
}

func (a *app) output(args ...string) ([]byte, error) {
	program, err := filepath.Abs(a.Binary)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = askTime
	raw, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return nil, fmt.Errorf("%s %s: %w\n%s", a.Binary, args[0], err, strings.TrimSpace(string(ended.Stderr)))
	}
	return raw, err
}

// collect lists the files: the binary, the worker and the plugins beside it, and the
// configuration.
func (a *app) collect() error {
	a.files = append(a.files, packed{"server/" + filepath.Base(a.Binary), a.Binary, 0o755})
	beside := filepath.Dir(a.Binary)
	suffix := ""
	if a.platform == "win32" {
		suffix = ".exe"
	}
	if worker := filepath.Join(beside, "koan-worker"+suffix); regular(worker) {
		a.files = append(a.files, packed{"server/koan-worker" + suffix, worker, 0o755})
	}
	if !a.Gateway {
		if err := a.collectPlugins(filepath.Join(beside, "plugins")); err != nil {
			return err
		}
	}
	if a.Config == "" {
		return nil
	}
	raw, err := os.ReadFile(a.Config)
	if err != nil {
		return err
	}
	for _, m := range variable.FindAllStringSubmatch(string(raw), -1) {
		a.secrets = append(a.secrets, m[1])
	}
	if a.runtimes, err = runtimesOf(raw); err != nil {
		return fmt.Errorf("--config %s: %w", a.Config, err)
	}
	a.files = append(a.files, packed{"server/koan.yaml", a.Config, 0o644})
	return nil
}

func (a *app) collectPlugins(dir string) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(file) // of what a link leads to
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		a.files = append(a.files, packed{path.Join("server/plugins", filepath.ToSlash(rel)), file, info.Mode().Perm() | 0o644})
		return nil
	})
}

func regular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// oldest is the first time that a zip file can tell: without any, its files have a day zero.
var oldest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// pack writes the bundle. The same files make the same bytes: the registry has their hash.
func (a *app) pack(out io.Writer, manifest []byte) error {
	w := zip.NewWriter(out)
	add := func(name string, mode fs.FileMode, content io.Reader) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: oldest}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(f, content)
		}
		return err
	}
	if err := add("manifest.json", 0o644, bytes.NewReader(manifest)); err != nil {
		return err
	}
	for _, p := range a.files {
		f, err := os.Open(p.from)
		if err == nil {
			err = errors.Join(add(p.name, p.mode, f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// runtimesOf returns what the languages of scripts that a configuration file lists need of the machine.
func runtimesOf(config []byte) (map[string]string, error) {
	var read struct {
		CodeMode struct{ Languages any } `yaml:"codeMode"`
	}
	if err := yaml.Unmarshal(config, &read); err != nil {
		return nil, err
	}
	needed := map[string]string{}
	for _, language := range regexp.MustCompile(`\w+`).FindAllString(fmt.Sprint(read.CodeMode.Languages), -1) { // a list, or a text with commas
		if version, ok := runtimes[language]; ok {
			needed[language] = version
		}
	}
	return needed, nil
}
