// Package source is JavaScript and TypeScript as the host of scripts knows them: by the text of scripts.
//
// What belongs here: what a text refers to, and texts that are made of others. Not here: running a script;
// a finding about one, which package validate makes in a worker.
package source

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// JavaScript is both languages.
type JavaScript struct{}

var _ language.Source = JavaScript{}

// Names implements language.Source.
func (JavaScript) Names() []string { return script.Names }

// References implements language.Source.
func (JavaScript) References(code string, args json.RawMessage) language.References {
	return referencesOf(code, args)
}

// ActionOf implements language.Source. Declarations and tests are no actions.
func (JavaScript) ActionOf(file string) (action, name string, ok bool) {
	if strings.HasPrefix(file, ".") || strings.HasSuffix(file, ".d.ts") || strings.HasSuffix(file, ".test.ts") || strings.HasSuffix(file, ".test.js") {
		return "", "", false
	}
	switch ext := path.Ext(file); ext {
	case ".ts":
		return strings.TrimSuffix(file, ext), "typescript", true
	case ".js":
		return strings.TrimSuffix(file, ext), "javascript", true
	}
	return "", "", false
}

// ActionFile implements language.Source.
func (JavaScript) ActionFile(a language.Action) (file, text, name string) {
	imports, body := script.AsFunction(a.Code)
	var b bytes.Buffer
	if imports != "" {
		b.WriteString(imports + "\n")
	}
	b.WriteString("export const action = {\n  description: " + quoted(a.Description) + ",\n  input: " + string(a.Input) + ",\n  rights: \"caller\",\n")
	if len(a.Example) > 0 {
		b.WriteString("  examples: [" + string(a.Example) + "],\n")
	}
	b.WriteString("};\n\n")
	inputType := "SDK.Actions." + catalog.Identifier(catalog.Pascal(a.Name)) + "Input"
	if file, name = a.Name+".js", a.Language; name == "javascript" {
		b.WriteString("/** @param {" + inputType + "} input */\nexport default async (input) => {\n")
	} else { // it may be either
		file, name = a.Name+".ts", "typescript"
		b.WriteString("export default async (input: " + inputType + ") => {\n")
	}
	b.WriteString(strings.TrimRight(body, "\n") + "\n") // as it was: a template may have several lines
	b.WriteString("};\n")
	return file, b.String(), name
}

// Finds implements language.Source.
func (JavaScript) Finds() language.Finds { return typegen.TypeScript{} }

// Types implements language.Source.
func (JavaScript) Types() language.Types { return typegen.TypeScript{} }

func quoted(s string) string {
	raw, err := wire.Marshal(s)
	if err != nil { // a string cannot fail
		return `""`
	}
	return string(raw)
}
