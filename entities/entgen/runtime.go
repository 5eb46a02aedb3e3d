package entgen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// readRuntime finds out where ent put the code that gives schemas their defaults
// and hooks. Where that is the package ent/runtime, an app has to import it: the
// generated file does so for the app, unless the schemas import ent themselves,
// which would be a circle; then it checks that the app did.
func (m *model) readRuntime() error {
	generated, err := os.ReadFile(filepath.Join(m.graph.Target, "runtime.go"))
	if err != nil {
		return fmt.Errorf("koan: %w", err)
	}
	m.runtime = bytes.Contains(generated, []byte("stitching logic is generated in"))
	if !m.runtime {
		return nil
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps, Dir: m.graph.Target}, m.graph.Schema)
	if err != nil {
		return fmt.Errorf("koan: the imports of the schemas cannot be read: %w", err)
	}
	packages.Visit(loaded, func(p *packages.Package) bool {
		m.circle = m.circle || p.PkgPath == m.graph.Package
		return true
	}, nil)
	return nil
}
