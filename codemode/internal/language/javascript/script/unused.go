package script

import (
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// namedImport finds the names that a statement imports, and the module.
var namedImport = lazily(`^import\s*(?:[\w$]+\s*,\s*)?\{([^}]*)\}\s*from\s*["']([^"'\n]*)["']`)

// typesOnly are the names of a module's declarations besides its exports.
const typesOnly = "Types"

// imported is a name that a script imports from a module, and its local name.
type imported struct{ path, name, local string }

// unused finds an imported name that the module does not export and that the script does
// not use: esbuild leaves such names out of its output, so that link does not see them.
// text is esbuild's input for code.
func (p *attempt) unused(code, text string, loader api.Loader) *Error {
	if p.modules == nil {
		return nil
	}
	var suspects []imported
	for rest := code; ; {
		at := wordAt(rest, "import")
		if at < 0 {
			break
		}
		rest = rest[at:]
		names, length := namesIn(rest)
		for _, i := range names {
			exported, known := exports(p.modules, i.path)
			before, behind := code[:len(code)-len(rest)], rest[length:]
			if known && i.name != typesOnly && i.name != "default" && !slices.Contains(exported, i.name) && !word(before, i.local) && !word(behind, i.local) {
				suspects = append(suspects, i)
			}
		}
		rest = rest[max(length, len("import")):]
	}
	if len(suspects) == 0 {
		return nil
	}
	// What looks like a statement may be in a string. esbuild knows.
	res := api.Transform(text, api.TransformOptions{
		Loader: loader, Target: api.ESNext, LogLevel: api.LogLevelSilent, TsconfigRaw: verbatim,
	})
	sure := statements(string(res.Code))
	for _, i := range suspects {
		if slices.ContainsFunc(sure, func(s imported) bool { return s.path == i.path && s.name == i.name }) {
			names, _ := exports(p.modules, i.path)
			line, column := place(code, max(wordAt(code, i.name), 0))
			return p.notExported(i.path, i.name, names, line, column)
		}
	}
	return nil
}

// statements returns the names that the import statements of a module import, in esbuild's
// output, which has each at the start of a line.
func statements(text string) (out []imported) {
	text = "\n" + withoutText(text)
	for {
		at := strings.Index(text, "\nimport ")
		if at < 0 {
			return out
		}
		text = text[at+1:]
		names, _ := namesIn(text)
		out = append(out, names...)
	}
}

// namesIn returns the names that the import statement at the start of a text imports,
// except for types, and the statement's length.
func namesIn(text string) (out []imported, length int) {
	m := namedImport().FindStringSubmatch(text)
	if m == nil {
		return nil, 0
	}
	for one := range strings.SplitSeq(m[1], ",") {
		words := strings.Fields(one)
		switch {
		case len(words) == 1:
			out = append(out, imported{m[2], words[0], words[0]})
		case len(words) == 3 && words[1] == "as":
			out = append(out, imported{m[2], words[0], words[2]})
		}
	}
	return out, len(m[0])
}

var exportAssignment = lazily(`\bexport\s*=`)

// assigned rejects `export =`, which makes a script a CommonJS module.
func (p *attempt) assigned(code, text string) *Error {
	const exports = userModule + "_module"
	if !word(text, exports) || word(code, exports) {
		return nil
	}
	at := exportAssignment().FindStringIndex(code)
	if at == nil {
		return nil
	}
	line, column := place(code, at[0])
	e := failure(p.at.user, "`export =` makes a CommonJS module, which scripts cannot be", line, column)
	e.Hint = "Write export default, or end the script with the value."
	return e
}

// place returns the line and column of an offset in the user's text.
func place(code string, offset int) (line, column int) {
	before := newLines(code[:offset]).text
	line = len(before)
	return line, newLines(code).column(line, len(before[line-1])+1)
}
