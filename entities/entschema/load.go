package entschema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"entgo.io/ent/entc/gen"
	"entgo.io/ent/entc/load"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/framework/fault"
)

// loadVariable names a folder for the process that only loads its schemas: ent's loader writes into the
// working directory, which a server shares with everything else that it does.
const loadVariable = "KOAN_LOAD_ENT_SCHEMAS"

// Load makes this process the loader of a folder's schemas, if that is what it was started for. A program that
// serves such folders calls it first; it returns in all other processes.
func Load() {
	dir := os.Getenv(loadVariable)
	if dir == "" {
		return
	}
	if err := printSchemas(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loaded is what the loader prints.
type loaded struct {
	Package string // of the schemas
	Schemas []*load.Schema
}

func printSchemas(dir string) error {
	spec, err := (&load.Config{Path: dir}).Load()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(loaded{spec.PkgPath, spec.Schemas})
}

// folder is a folder of schemas in a Go module.
type folder struct {
	dir  string // absolute
	root string // of its module
}

// find returns the folder that a setting names.
func find(dir string) (folder, error) {
	wrong := func(code fault.Code, what, hint string) error {
		return fault.New(code, what).WithPath("/schema").WithHint("%s", hint)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return folder{}, wrong(fault.CapabilityUnsupported, "schemas are Go code, and there is no go command", "Install Go (https://go.dev/dl), and put it into PATH.")
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, err
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return folder{}, wrong(fault.ServiceUnavailable, "there is no folder "+dir, "Name the folder of the ent schemas, such as ./ent/schema. It is relative to the working directory.")
	}
	sources, err := filepath.Glob(filepath.Join(at, "*.go"))
	if err != nil || len(sources) == 0 {
		return folder{}, wrong(fault.ServiceUnavailable, fmt.Sprintf("%s has no Go files", dir), "Name the folder of the ent schemas themselves, such as ./ent/schema.")
	}
	for root := at; ; root = filepath.Dir(root) {
		switch _, err := os.Stat(filepath.Join(root, "go.mod")); {
		case err == nil:
			return folder{at, root}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return folder{}, err
		}
		if root == filepath.Dir(root) {
			return folder{}, wrong(fault.ServiceUnavailable, fmt.Sprintf("%s is in no Go module", dir), "Make one there: go mod init shop && go get entgo.io/ent && go mod tidy.")
		}
	}
}

// graph loads the schemas as ent's generation does, in a process of its own.
func (f folder) graph(ctx context.Context) (*gen.Graph, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(f.root, f.dir)
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.root, &out, &said
	cmd.Env = append(os.Environ(), loadVariable+"=./"+filepath.ToSlash(below))
	if err := cmd.Run(); err != nil {
		return nil, f.trouble(said.String(), err)
	}
	var read struct {
		Package string
		Schemas []json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		return nil, fmt.Errorf("ent's loader printed something else: %w", err)
	}
	var schemas []*load.Schema
	for _, raw := range read.Schemas {
		s, err := load.UnmarshalSchema(raw)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, s)
	}
	storage, err := gen.NewStorage("sql")
	if err != nil {
		return nil, err
	}
	g, err := gen.NewGraph(&gen.Config{
		Storage: storage, IDType: &field.TypeInfo{Type: field.TypeInt},
		Schema: read.Package, Package: path.Dir(read.Package), Target: filepath.Dir(f.dir),
	}, schemas...)
	if err != nil {
		return nil, f.trouble(err.Error(), err)
	}
	return g, nil
}

// trouble is the fault of schemas that cannot be loaded.
func (f folder) trouble(said string, err error) error {
	said = strings.TrimSpace(said)
	hint := "Mend what it says: the schemas have to compile, as for `ent generate`."
	switch {
	case strings.Contains(said, "no required module provides package entgo.io/ent"), strings.Contains(said, "missing go.sum entry"):
		hint = "Let the module require what the schemas import: go get entgo.io/ent && go mod tidy."
	case strings.Contains(said, "is not in std"), strings.Contains(said, "no required module provides package"), strings.Contains(said, "no Go files in"):
		hint = "Schemas that import what ent generates need it: run go generate first, or take the imports out. Other packages: go mod tidy."
	}
	return fault.Newf(fault.ServiceUnavailable, "the schemas in %s cannot be loaded: %s", f.dir, said).WithPath("/schema").Because(err).WithHint("%s", hint)
}
