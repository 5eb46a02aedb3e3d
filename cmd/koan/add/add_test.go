package add

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden runs a case for each archive of a folder. The case returns what the archive
// should have beside its input.
func golden(t *testing.T, folder string, run func(t *testing.T, in *txtar.Archive) []txtar.File) {
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			in := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "in") {
					in.Files = append(in.Files, f)
				}
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: slices.Concat(in.Files, run(t, in))}
			if *update {
				require.NoError(t, os.WriteFile(path, txtar.Format(got), 0o644))
			}
			require.Equal(t, string(txtar.Format(archive)), string(txtar.Format(got)))
		})
	}
}

func TestAddExtension(t *testing.T) {
	golden(t, "program", func(t *testing.T, in *txtar.Archive) []txtar.File {
		out, err := addExtension("entc.go", in.Files[0].Data)
		require.NoError(t, err)
		again, err := addExtension("entc.go", out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again), "a second time changes nothing")
		return []txtar.File{{Name: "out", Data: out}}
	})
}

// TestAnnotate exposes the schemas that the comment of each archive
// names.
func TestAnnotate(t *testing.T) {
	golden(t, "schema", func(t *testing.T, in *txtar.Archive) (out []txtar.File) {
		p := &plan{schemas: t.TempDir(), files: files{}, graph: &graph{}}
		for _, f := range in.Files {
			require.NoError(t, os.WriteFile(filepath.Join(p.schemas, strings.TrimPrefix(f.Name, "in/")), f.Data, 0o644))
		}
		p.graph.exposable = schemasIn(t, p.schemas)
		for _, name := range p.graph.exposable {
			if strings.Contains(string(in.Comment), name) {
				p.Expose = append(p.Expose, name)
			}
		}
		require.NoError(t, p.annotate())
		for _, f := range p.changed() {
			out = append(out, txtar.File{Name: "out/" + filepath.Base(f.path), Data: f.now})
		}
		if len(p.manual) > 0 {
			out = append(out, txtar.File{Name: "by hand", Data: []byte(strings.Join(p.manual, "\n") + "\n")})
		}
		return out
	})
}

// schemasIn are the exported structs of a folder.
func schemasIn(t testing.TB, dir string) (out []string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() && s.Name.Name != "Base" {
				out = append(out, s.Name.Name)
			}
			return true
		})
	}
	return out
}

func TestAddExtensionKeepsLineEndings(t *testing.T) {
	src := "package main\r\n\r\nimport \"entgo.io/ent/entc\"\r\n\r\nfunc main() { _ = entc.Generate(\"a\", nil) }\r\n"
	out, err := addExtension("entc.go", []byte(src))
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(out), "\n"), strings.Count(string(out), "\r\n"))
	require.Contains(t, string(out), "import \"github.com/koan-go/koan/entities/entgen\"\r\n")
}

func TestReadDirectives(t *testing.T) {
	for line, want := range map[string]*entCommand{
		`//go:generate go run -mod=mod entgo.io/ent/cmd/ent generate ./schema`: {before: []string{"go", "run", "-mod=mod"}, path: "./schema"},
		`//go:generate go run entgo.io/ent/cmd/ent@v0.14.6 generate ./schema --feature sql/upsert,privacy --feature entql`: {
			before: []string{"go", "run"}, path: "./schema", features: []string{"sql/upsert", "privacy", "entql"},
		},
		`//go:generate go tool entgo.io/ent/cmd/ent generate --target ./db --idtype=string ./schema`: {
			before: []string{"go", "run", "-mod=mod"}, path: "./schema", target: "./db", idType: "string",
		},
		`//go:generate env A=b go tool ent generate ./schema`: {before: []string{"env", "A=b", "go", "run", "-mod=mod"}, path: "./schema"},
		`//go:generate ent generate --header "// A\n// \"B\"" --template dir=./t --template glob=./g/*.tmpl ./schema`: {
			before: []string{"go", "run", "-mod=mod"}, path: "./schema", header: "// A\n// \"B\"", templates: []string{"dir=./t", "glob=./g/*.tmpl"},
		},
		`//go:generate mockgen -source ent.go`:       nil,
		`//go:generate go run -mod=mod entc.go`:      nil,
		`//go:generate stringer -type ent generated`: nil,
	} {
		d := readDirectives("generate.go", []byte("package ent\n\n"+line+"\n"))
		require.Len(t, d, 1, line)
		require.NoError(t, d[0].wrong, line)
		if want != nil {
			want.storage = "sql"
		}
		require.Equal(t, want, d[0].ent, line)
		require.Equal(t, 3, d[0].line)
	}
	require.Empty(t, readDirectives("x.go", []byte("package x\n// //go:generate ent generate ./schema\n//go:generated\n")))
	for line, want := range map[string]string{
		`ent generate --storage gremlin ./schema`:    "x.go:1: ent generate --storage gremlin: entities are served from SQL databases only",
		`ent generate --idtype float ./schema`:       "x.go:1: ent generate --idtype float: it must be",
		`ent generate --shape round ./schema`:        "x.go:1: ent generate: unknown flag: --shape",
		`ent generate ./schema ./other`:              "x.go:1: ent generate takes one path, not ./schema ./other",
		`ent generate --template zip=x ./schema`:     "x.go:1: ent generate --template zip=x: want dir=, file= or glob=",
		`ent generate --header "never ends ./schema`: "x.go:1: a quoted word does not end",
	} {
		d := readDirectives("x.go", []byte("//go:generate "+line+"\n"))
		require.ErrorContains(t, d[0].wrong, want)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "a b", `a "b c"`, `"\n"`, `"`, `a"b`, "\t a\t", `"a"b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := split(line)
		if err != nil || strings.ContainsAny(line, "\n\r") {
			return
		}
		again, err := split(join(words))
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}

// FuzzExpose: whatever a schema's source is, what comes of it is Go that has the
// annotation, or it is left to a person.
func FuzzExpose(f *testing.F) {
	paths, err := filepath.Glob("testdata/schema/*.txtar")
	require.NoError(f, err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		for _, file := range archive.Files {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		pkg := &schemaPackage{}
		if pkg.add(&file{path: "x.go", was: []byte(src)}) != nil {
			return
		}
		for _, d := range pkg.files[0].ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE || len(g.Specs) == 0 {
				continue
			}
			name := g.Specs[0].(*ast.TypeSpec).Name.Name
			byHand, err := pkg.expose(name)
			require.NoError(t, err)
			now, err := apply(pkg.files[0].was, pkg.files[0].edits)
			require.NoError(t, err)
			if byHand == "" {
				require.Contains(t, string(now), "expose.Entity{}")
			}
			return
		}
	})
}

// What is added to a file stands as far in as what is beside it, whatever gofmt would do to the file.
func TestAddExtensionKeepsIndentation(t *testing.T) {
	const crlf = "package main\n\nimport (\n\t\"log\"\n\n\t\"entgo.io/ent/entc\"\n)\n\nfunc main() {\n\tlog.Fatal(entc.Generate(\"a\", nil,\n\t\tentc.FeatureNames(\"x\"),\n\t))\n}\n"
	for name, c := range map[string]struct{ src, want string }{
		"spaces": {
			"package main\n\nimport (\n    \"entgo.io/ent/entc\" // code\n    \"log\"\n)\n\nfunc main() {\n    log.Fatal(entc.Generate(\"a\", nil,\n        entc.FeatureNames(\"x\"),\n    ))\n}\n",
			"package main\n\nimport (\n    \"entgo.io/ent/entc\" // code\n    \"github.com/koan-go/koan/entities/entgen\"\n    \"log\"\n)\n\nfunc main() {\n    log.Fatal(entc.Generate(\"a\", nil,\n        entc.FeatureNames(\"x\"),\n        entc.Extensions(entgen.New()),\n    ))\n}\n",
		},
		"tabs, not formatted": {
			"package main\n\nimport (\n\t\"log\"\n\n\t\"entgo.io/ent/entc\"\n)\n\nfunc main( ) {\n\tlog.Fatal(entc.Generate(\"a\", nil))\n}\n",
			"package main\n\nimport (\n\t\"log\"\n\n\t\"entgo.io/ent/entc\"\n\t\"github.com/koan-go/koan/entities/entgen\"\n)\n\nfunc main( ) {\n\tlog.Fatal(entc.Generate(\"a\", nil, entc.Extensions(entgen.New())))\n}\n",
		},
		"CRLF, formatted otherwise": {
			strings.ReplaceAll(crlf, "\n", "\r\n"),
			strings.ReplaceAll(strings.NewReplacer("entc\"\n)", "entc\"\n\t\"github.com/koan-go/koan/entities/entgen\"\n)", "\"x\"),\n", "\"x\"),\n\t\tentc.Extensions(entgen.New()),\n").Replace(crlf), "\n", "\r\n"),
		},
		"a group on one line": {
			"package main\n\nimport (\"log\"; \"entgo.io/ent/entc\")\n\nfunc main() { log.Fatal(entc.Generate(\"a\", nil)) }\n",
			"package main\n\nimport (\"log\"; \"entgo.io/ent/entc\"; \"github.com/koan-go/koan/entities/entgen\")\n\nfunc main() { log.Fatal(entc.Generate(\"a\", nil, entc.Extensions(entgen.New()))) }\n",
		},
		"imports on one line": {
			"package main\n\nimport \"entgo.io/ent/entc\"; import \"log\"\n\nfunc main() { log.Fatal(entc.Generate(\"a\", nil)) }\n",
			"package main\n\nimport \"entgo.io/ent/entc\"; import \"github.com/koan-go/koan/entities/entgen\"; import \"log\"\n\nfunc main() { log.Fatal(entc.Generate(\"a\", nil, entc.Extensions(entgen.New()))) }\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := addExtension("entc.go", []byte(c.src))
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
		})
	}
}
