package typegen

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Outline describes SDK for scripts in Python.
type Outline struct{}

var _ language.Outline = Outline{}

// style is how the lines of a description are written.
var style = outline.Style{Function: functionName, Signature: actionSignature, Comment: "#"}

// functionName returns the spelling of a function's name that a reader of Python expects.
func functionName(name string) string {
	name = strings.TrimPrefix(name, "$")
	if s := snake(name); isIdentifier(s) {
		return s
	}
	return name
}

// Overview implements language.Outline.
func (Outline) Overview(v *catalog.View, budget int) (text string, more []string) {
	return style.Overview(v, budget)
}

// Lines implements language.Outline.
func (Outline) Lines(v *catalog.View, budget int) string { return style.Lines(v, budget) }

// ActionLines implements language.Outline.
func (Outline) ActionLines(v *catalog.View) string {
	return catalog.Memo(v, actionLinesKey{}, func() string { return style.Actions(v) })
}

type (
	actionLinesKey struct{}
	inlineKey      struct{ budget int }
	inlined        struct {
		text     string
		complete bool
	}
)

// Inline implements language.Outline: the declarations with their comments or, if that is too long, without.
func (Outline) Inline(v *catalog.View, budget int) (text string, complete bool) {
	found := catalog.Memo(v, inlineKey{budget}, func() inlined {
		if outline.LeastSize(v) > budget {
			return inlined{style.Lines(v, budget), false}
		}
		for _, comments := range []bool{true, false} {
			g := brief(v)
			g.comments, g.inline = comments, true
			if text := g.declarations(); len(text) <= budget {
				return inlined{text, true}
			}
		}
		return inlined{style.Lines(v, budget), false}
	})
	return found.text, found.complete
}

// inlinePrelude is what the declarations in a description begin with.
var inlinePrelude = `T = TypeVar("T")
# {field: value} or {field: {` + spaced(catalog.ClassOrder.Operators()) + `}}; texts ` + spaced(catalog.ClassText.Beyond(catalog.ClassOrder)) +
	`; lists ` + spaced(catalog.ClassList.Beyond(catalog.ClassJSON)) + `; JSON ` + spaced(catalog.ClassJSON.Beyond(catalog.ClassWhole)) +
	`; ` + spaced(catalog.OperatorNames(catalog.InFilter)) + `; to-many ` + spaced(catalog.EdgeOperators()) + `
Filter = Mapping[str, Any]
Id = str | int
Sort = str | Sequence[str | Mapping[str, Any]] # "-dueDate,name"
Names = str | Sequence[str]
With = Names | Mapping[str, Any] # "a,b.c", or {edge: {limit, sort, filter, fields, with}}
class Row: # a dict, whose members are attributes too
    def __getitem__(self, name: str) -> Any: ...
# Each field may be absent. Relationships are written by id; a list replaces, {$add, $remove} change it.
Model = Row | Mapping[str, Any]
class Page(Generic[T]): items: list[T]; page: int; pageSize: int; totalCount: int; nextCursor: str | None; truncated: bool
`

func spaced(names []string) string { return strings.Join(names, " ") }

// inlineSDK is the end of the class of SDK.
const inlineSDK = `    Out: _Out
    args: Any
    run: _Run # id, set, dry_run
class _Run: id: str; set: str; dry_run: bool
class _Out:
    def answer(self, value: Any) -> None: ...
    def info(self, *values: Any) -> None: ...
    def warn(self, *values: Any) -> None: ...
    def error(self, *values: Any) -> None: ...
    def progress(self, done: float, total: float=..., message: str=...) -> None: ...
    def file(self, file: Any) -> Any: ...
SDK: _SDK
`

// declarations returns those of a description: what every entity has in common stands once.
func (g *generator) declarations() string {
	methods := g.inlineMethods()
	var b, entities, members, sdk strings.Builder
	for _, r := range g.view.Resources() {
		if !isIdentifier(r.Name) {
			continue
		}
		g.inlineRow(&b, r)
		for _, s := range g.shapes {
			if slices.Equal(s.Operations, shapes.Methods(r.Operations)) {
				b.WriteString("_" + r.Name + " = " + s.Name + "[" + r.Name + "]\n")
			}
		}
		entities.WriteString("    " + r.Name + ": _" + r.Name + "\n")
	}
	all := bind.Bind(g.view)
	for _, d := range all.Domains {
		if isIdentifier(d.Name) {
			sdk.WriteString("    " + d.Name + ": " + g.domain(&members, d) + "\n")
		}
	}
	var servers strings.Builder
	for _, d := range all.Upstreams {
		if d.Name = attribute(d.Name); isIdentifier(d.Name) {
			servers.WriteString("    " + d.Name + ": " + g.domain(&members, d) + "\n")
		}
	}
	out := inlinePrelude + methods + b.String() + g.types.String() + members.String()
	head := "class _SDK:\n"
	if entities.Len() > 0 {
		out += "class _Entities:\n" + entities.String()
		head += "    Entities: _Entities\n"
	}
	if servers.Len() > 0 {
		out += "class _Servers:\n" + servers.String()
		head += "    Servers: _Servers\n"
	}
	return own.ReplaceAllString(strings.ReplaceAll(out, "\n\n", "\n"), "$1") + head + sdk.String() + inlineSDK
}

// inlineRow writes the class of what is read of an entity.
func (g *generator) inlineRow(b *strings.Builder, r *catalog.Resource) {
	about := r.Description
	if len(r.Sets) > 0 {
		about = strings.TrimSpace(strings.TrimRight(about, " .") + " (sets: " + strings.Join(r.Sets, ", ") + ")")
	}
	b.WriteString("class " + r.Name + "(Row):" + g.remark(about) + "\n")
	member := func(name, kind, about string) {
		if !isIdentifier(name) {
			b.WriteString("    # row[" + quote(name) + "]: " + kind + "\n")
			return
		}
		b.WriteString("    " + name + ": " + kind + g.remark(about) + "\n")
	}
	member(r.Key.Name, "str", "")
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Readable() && f.Name != r.Key.Name {
			member(f.Name, inlineKind(f), outline.FieldNotes(f))
		}
	}
	for _, e := range r.Edges {
		kind := quote(e.Target)
		switch {
		case e.WriteOnly:
			continue
		case g.view.Resource(e.Target) == nil || !isIdentifier(e.Target):
			kind = "Any"
		case e.Many:
			kind = "list[" + kind + "]"
		case !e.Required:
			kind = "Optional[" + kind + "]"
		}
		member(e.Name, kind, outline.EdgeNotes(e))
	}
}

// inlineKind is the type of a field as a reader writes it.
func inlineKind(f *catalog.Field) string {
	inner, ok := strings.CutPrefix(kindOf(f), "Union[")
	if !ok {
		return inner
	}
	return strings.ReplaceAll(strings.TrimSuffix(inner, "]"), ", None", " | None")
}

// remark is a comment at the end of a line.
func (g *generator) remark(text string) string {
	if text = outline.Plain(text); text == "" || !g.comments {
		return ""
	}
	return " # " + text
}

// inlineMethods writes the classes of entities' methods: one for each set of methods.
func (g *generator) inlineMethods() string {
	var b strings.Builder
	g.shapes = shapes.Of(g.view)
	g.options = map[string][]string{}
	for _, r := range g.view.Resources() {
		m := g.methodsOf(r)
		for _, op := range r.Operations {
			for _, name := range m.options(op) {
				if !slices.Contains(g.options[op], name) {
					g.options[op] = append(g.options[op], name)
				}
			}
		}
	}
	slices.SortStableFunc(g.shapes, func(a, b shapes.Shape) int { return len(a.Operations) - len(b.Operations) }) // a base first
	for _, s := range g.shapes {
		ops, base := s.Operations, "Generic[T]"
		if of := shapes.Base(g.shapes, s); of != nil {
			ops, base = s.Beyond(of), of.Name+"[T]"
		}
		b.WriteString("class " + s.Name + "(" + base + "):\n    def __contains__(self, name: str) -> bool: ...\n")
		for _, op := range ops {
			for _, method := range bind.Methods(op) {
				b.WriteString("    " + g.inlineMethod(op, method) + "\n")
			}
		}
	}
	return b.String()
}

// keywords are the options of a method with their types.
func (g *generator) keywords(op string, method bind.Method) (out []string) {
	for _, name := range g.options[op] {
		if slices.Contains(method.Arguments, name) || slices.ContainsFunc(method.Fixed, func(f bind.Member) bool { return f.Name == name }) {
			continue
		}
		spelling := snake(name)
		if !isIdentifier(spelling) {
			spelling += "_"
		}
		out = append(out, spelling+": "+inlineArgument(op, name)+"=...")
	}
	return out
}

// inlineMethod is the signature of a method.
func (g *generator) inlineMethod(op string, method bind.Method) string {
	parts := []string{"self"}
	for i, name := range method.Arguments {
		one := snake(name) + ": " + inlineArgument(op, name)
		if method.LoneSet || method.Loose && i == len(method.Arguments)-1 {
			one += "=..."
		}
		parts = append(parts, one)
	}
	if keywords := g.keywords(op, method); len(keywords) > 0 {
		parts = append(append(parts, "*"), keywords...)
	}
	return "def " + snake(method.Name) + "(" + strings.Join(parts, ", ") + ") -> " + inlineReturned(method.Returns) + ": ..." + g.remark(methodNotes[method.Name])
}

// methodNotes say what the signatures of methods cannot.
var methodNotes = map[string]string{
	"firstPage": "page_size 50, at most 200",
	"page":      "page from 1",
	"each":      "all items, page by page",
	"all":       "at most 10,000; raises for more",
	"getById":   "raises not_found",
	"aggregate": "columns: the groups, count, sumField ...",
	"new":       "a model with defaults, not stored: create or upsert stores it",
	"create":    "conflict if its id or a unique key is taken",
	"upsert":    "absent fields keep their values",
	"delete":    "how many were deleted",
}

// inlineArgument is the type of a member of an operation's input.
func inlineArgument(op, name string) string {
	switch name {
	case "id":
		return "Id"
	case "ids":
		return "Sequence[Id]"
	case "model", "changes":
		return "Model"
	case "models":
		return "Sequence[Model]"
	case "filter":
		return "Filter"
	case "sort":
		return "Sort"
	case "with":
		return "With"
	case "fields":
		return "Names"
	case "set":
		return "str"
	}
	return strings.TrimPrefix(scalar(op, name), "_")
}

// inlineReturned is the type of what a method returns.
func inlineReturned(what catalog.Returned) string {
	switch what {
	case catalog.ReturnsPage:
		return "Page[T]"
	case catalog.ReturnsIterator:
		return "Iterator[T]"
	case catalog.ReturnsList:
		return "list[T]"
	case catalog.ReturnsEntity, catalog.ReturnsModel:
		return "T"
	case catalog.ReturnsEntityOrNull:
		return "T | None"
	case catalog.ReturnsNumber:
		return "int"
	case catalog.ReturnsRows:
		return "list[Row]"
	}
	return "Any"
}

// inlineFunction writes a function in one spelling, with its members as keywords.
func (g *generator) inlineFunction(b *strings.Builder, domain string, f wire.Function, op *catalog.Operation) {
	name := functionName(f.Name)
	if !isIdentifier(name) {
		return
	}
	title := domain + pascal(f.Name)
	b.WriteString("    def " + name + "(self" + g.inputs(title+"Input", op.Input).inlineInput(f.Leading) + ") -> " + g.outputs(title+"Output", op.Output).output() + ": ..." + g.remark(op.Summary) + "\n")
}
