package read

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/database/zone"
	"github.com/koan-go/koan/framework/fault"
)

var (
	groupKeys    = []string{"field", "by", "as"}
	countOptions = []string{"all", "distinct"}
	units        = []string{string(sqltext.Day), string(sqltext.Week), string(sqltext.Month), string(sqltext.Year)}
)

// ownName is what a column may be called by the caller.
const ownName = `^[A-Za-z_][A-Za-z0-9_]{0,63}$`

var ownNames = regexp.MustCompile(ownName)

// aggregateInput is the input of an aggregate: it names columns of its result, too.
type aggregateInput struct {
	*input
	zone string // of the buckets of times
}

// DecodeAggregate checks an input of the operation aggregate. It ends in
// invalid_payload with everything that is wrong.
func DecodeAggregate(raw json.RawMessage, e *descriptor.Entity, g filter.Graph) (*Aggregate, error) {
	in := &aggregateInput{input: open(raw, e, g, aggregateKeys)}
	if in.members == nil {
		return nil, in.err()
	}
	in.timeZone()
	a := &Aggregate{Filter: in.filter(e, in.members, "")}
	in.groupBy(a)
	a.groups = len(a.columns)
	if a.groups > maxGroupBy {
		in.fail("/groupBy", "an aggregate groups by at most "+strconv.Itoa(maxGroupBy)+" columns")
	}
	in.counts(a)
	for _, call := range []call{sum, average, least, greatest} {
		in.measures(a, call, in.members, "", string(call))
	}
	if _, said := in.members["count"]; !said && len(a.columns) == a.groups {
		in.add(a, column{name: string(count), call: count}, "/count")
	}
	switch n := len(a.columns) - a.groups; {
	case n > maxMeasures:
		in.fail("", "an aggregate computes at most "+strconv.Itoa(maxMeasures)+" columns")
	case len(a.columns) == 0 && len(in.details) == 0:
		in.fail("/count", "there is nothing to compute: ask for count, sum, avg, min or max, or group by something")
	}
	if len(a.columns) == 0 {
		return nil, in.err()
	}
	in.having(a)
	in.positions(a)
	a.Limit = in.integer("limit", 0, 1, maxRows)
	a.Query = in.query()
	return a, in.err()
}

// timeZone reads the name of a zone; without one, buckets begin in UTC.
func (in *aggregateInput) timeZone() {
	in.zone = zone.UTC
	v, ok := in.members["timeZone"]
	if !ok {
		return
	}
	name, ok := v.(string)
	if !ok {
		in.wrong("/timeZone", `timeZone must be the name of a time zone, such as "Europe/Berlin"`, "string", v)
		return
	}
	if _, ok := zone.Load(name); !ok {
		in.fail("/timeZone", "unknown time zone "+filter.Quote(fault.Clip(name, 64))+zone.Suggestion(name)+`; it takes names of the IANA database, such as "Europe/Berlin"`)
		return
	}
	in.zone = name
}

// groupBy reads "a,b", {field, by, as}, or a list of such.
func (in *aggregateInput) groupBy(a *Aggregate) {
	v, ok := in.members["groupBy"]
	if !ok {
		return
	}
	const at = "/groupBy"
	list, ok := v.([]any)
	switch {
	case !ok:
		in.group(a, v, at)
	case len(list) == 0:
		in.wrong(at, "at least one name is required", "non-empty list", v)
	}
	for i, item := range list {
		in.group(a, item, at+"/"+strconv.Itoa(i))
	}
}

func (in *aggregateInput) group(a *Aggregate, v any, at string) {
	m, ok := v.(map[string]any)
	if _, isText := v.(string); isText {
		for _, n := range in.names(v, at, "fields") {
			of, _ := in.source(n.name, n.at, group)
			in.add(a, column{name: n.name, of: of}, n.at)
		}
		return
	}
	if !ok {
		in.wrong(at, "groupBy takes the name of a field, or {field, by, as}", "string or object", v)
		return
	}
	in.unknown(at, "option", m, groupKeys)
	name, ok := m["field"].(string)
	if !ok {
		in.wrong(at+"/field", "field must name what to group by", "string", m["field"])
		return
	}
	of, known := in.source(name, at+"/field", group)
	c := column{name: name, of: of, by: in.unit(of, known, m, at), zone: in.zone}
	if c.by != "" {
		c.name += capitalize(string(c.by))
	}
	if as, ok := m["as"]; ok {
		c.name, ok = as.(string)
		if !ok || !ownNames.MatchString(c.name) {
			in.wrong(at+"/as", "the name of a column must be letters, digits and _, at most 64 of them", "name", as)
		}
	}
	in.add(a, c, at)
}

// unit reads the bucket of a time.
func (in *aggregateInput) unit(of source, known bool, m map[string]any, at string) sqltext.Unit {
	v, ok := m["by"]
	if !ok {
		return ""
	}
	s, ok := v.(string)
	switch {
	case !ok:
		in.wrong(at+"/by", "by must be one of "+strings.Join(units, ", "), "string", v)
	case !slices.Contains(units, s):
		in.fail(at+"/by", "unknown bucket "+filter.Quote(s)+fault.DidYouMean(s, units)+" (there are "+strings.Join(units, ", ")+")")
	case known && of.field.Type != catalog.TypeTime && of.field.Type != catalog.TypeDay:
		in.fail(at+"/by", "only times and days have buckets; "+filter.Quote(of.name)+" is of type "+string(of.field.Type))
	default:
		return sqltext.Unit(s)
	}
	return ""
}

// counts reads true, or {all, distinct}.
func (in *aggregateInput) counts(a *Aggregate) {
	v, ok := in.members["count"]
	if !ok {
		return
	}
	const at = "/count"
	m, isObject := v.(map[string]any)
	all, isFlag := v.(bool)
	switch {
	case isObject && len(m) > 0:
		in.unknown(at, "option", m, countOptions)
		if v, ok := m["all"]; ok {
			if all, ok = v.(bool); !ok {
				in.wrong(at+"/all", "all must be true or false", "boolean", v)
			}
		}
	case !isFlag:
		in.wrong(at, "count must be true, false, or {all, distinct}", "boolean or object", v)
		return
	}
	if all {
		in.add(a, column{name: string(count), call: count}, at)
	}
	in.measures(a, distinct, m, at, string(distinct))
}

// measures reads the fields that something is computed of.
func (in *aggregateInput) measures(a *Aggregate, c call, m map[string]any, at, member string) {
	v, ok := m[member]
	if !ok {
		return
	}
	for _, n := range in.names(v, at+"/"+member, "fields") {
		of, _ := in.source(n.name, n.at, c)
		in.add(a, column{name: member + capitalize(n.name), call: c, of: of}, n.at)
	}
}

func capitalize(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

// heldElsewhere says how to aggregate by a relationship whose references are not the entity's own:
// by the one at its other side, if callers see it.
func (in *aggregateInput) heldElsewhere(edge *descriptor.Edge, target *descriptor.Entity) string {
	name, other := filter.Quote(edge.Name), target.Resource.Name
	if len(edge.On) > 0 && edge.Inverse {
		return name + " is held by several columns, or refers to no id: aggregate by the fields that hold it instead"
	}
	if edge.JoinTable != "" {
		return name + " relates many to many, which an aggregate cannot use; filter by it instead"
	}
	for i := range target.Edges {
		back, of := filter.Related(target, in.graph, target.Edges[i].Name)
		if back != nil && of.Resource.Name == in.entity.Resource.Name && back.OwnKey == edge.TargetKey {
			return name + " is held by " + other + ": aggregate " + other + " by " + filter.Quote(back.Name) + " instead"
		}
	}
	return name + " is held by " + other + ", which has no relationship for it to aggregate by"
}

// source finds a field, or a to-one relationship that the entity keeps the
// reference of. Where there is none it gives one to go on with, so that what
// refers to its column is not reported as well.
func (in *aggregateInput) source(name, at string, c call) (source, bool) {
	missing := source{name: name, field: catalog.Field{Type: catalog.TypeString, Nullable: true}, column: descriptor.Column{Storage: descriptor.Text, Nullable: true}}
	if c == sum || c == average {
		missing.field.Type = catalog.TypeFloat
	}
	if f, column := in.entity.Resource.Field(name), in.entity.Column(name); filter.Readable(f) && column != nil {
		of := source{name: name, field: *f, column: *column, long: in.long(f, column)}
		if name == in.entity.Resource.Key.Name {
			of.field.Type = catalog.TypeID
		}
		if why := whyUnfit(&of.field, c); why != "" {
			in.fail(at, filter.Quote(name)+" of type "+string(of.field.Type)+" "+why)
			return missing, false
		}
		return of, true
	}
	edge, target := filter.Related(in.entity, in.graph, name)
	switch {
	case edge == nil:
		in.fail(at, "unknown field "+filter.Quote(name)+" of "+in.entity.Resource.Name+fault.DidYouMean(name, in.sources()))
		return missing, false
	case edge.OwnKey == "" || edge.JoinTable != "":
		in.fail(at, in.heldElsewhere(edge, target))
		return missing, false
	}
	of := source{
		name: name, field: catalog.Field{Type: catalog.TypeID, Nullable: true}, target: target, guard: in.guards.Of(target),
		column: descriptor.Column{Name: edge.OwnKey, Storage: target.Key.Storage, Form: target.Key.Form, Nullable: true},
		long:   in.long(&target.Resource.Key, &target.Key),
	}
	if why := whyUnfit(&of.field, c); why != "" {
		in.fail(at, "the relationship "+filter.Quote(name)+" "+why)
		return missing, false
	}
	return of, true
}

// long reports whether nothing keeps the values of a field within MaxValue. Those of a
// reference are what the keys are that it refers to.
func (in *aggregateInput) long(f *catalog.Field, c *descriptor.Column) bool {
	if c.Refers != "" {
		if target := in.graph.Entity(c.Refers); target != nil {
			f = &target.Resource.Key
		}
	}
	return isUnbounded(f, c, MaxValue)
}

// sources are the names that columns can be made of.
func (in *aggregateInput) sources() []string {
	out := filter.FieldNames(in.entity)
	for _, name := range filter.EdgeNames(in.entity, in.graph) {
		if edge := in.entity.Edge(name); edge.OwnKey != "" && edge.JoinTable == "" {
			out = append(out, name)
		}
	}
	return out
}

// whyUnfit says why a computation does not apply to a field, "" where it does.
func whyUnfit(f *catalog.Field, c call) string {
	if f.Opaque && f.Type != catalog.TypeJSON && c != group && c != distinct {
		return "is stored in a format of its own: it can only be grouped and counted"
	}
	switch f.Type {
	case catalog.TypeInt, catalog.TypeFloat, catalog.TypeDecimal:
		return ""
	case catalog.TypeJSON:
		return "cannot be grouped or computed"
	case catalog.TypeString, catalog.TypeText, catalog.TypeTime, catalog.TypeDay, catalog.TypeEnum, catalog.TypeID:
		if c != sum && c != average {
			return ""
		}
	case catalog.TypeBool, catalog.TypeUUID, catalog.TypeBytes:
		if c == group || c == distinct {
			return ""
		}
	}
	if c == sum || c == average {
		return "is not a number"
	}
	return "cannot be ordered"
}

// add puts a column in, under a name of its own.
func (in *aggregateInput) add(a *Aggregate, c column, at string) {
	for i := range a.columns {
		if a.columns[i].name == c.name {
			in.fail(at, "two columns are named "+filter.Quote(c.name)+"; rename one in groupBy: {field, as}")
			return
		}
	}
	c.field, c.inner = c.of.field, c.of.column
	switch {
	case c.call == count || c.call == distinct:
		c.field, c.inner = catalog.Field{Type: catalog.TypeInt}, descriptor.Column{Storage: descriptor.Int}
	case c.call == average && c.field.Type == catalog.TypeInt:
		c.field, c.inner = catalog.Field{Type: catalog.TypeFloat}, descriptor.Column{Storage: descriptor.Float}
	}
	if c.call == sum || c.call == average {
		c.inner.Single = false
	}
	if c.field.Type == catalog.TypeDecimal { // a number now, however the column keeps it
		c.inner.Form = nil
	}
	if c.by != "" { // the start of a bucket is written in one way, however the column keeps times
		c.inner.Form, c.inner.Keeping = nil, descriptor.Typed
	}
	if c.inner.Storage == descriptor.Text && !c.inner.Folds(descriptor.OwnOrder) { // a text now, whatever the column's type
		c.inner.Native = ""
	}
	if c.call != group && c.call != count && c.call != distinct {
		c.field.Nullable, c.inner.Nullable = true, true
	}
	c.field.Name, c.inner.Field = c.name, c.name
	c.inner.Name = "c" + strconv.Itoa(len(a.columns))
	a.columns = append(a.columns, c)
}

// noEntities is a graph without entities: columns have no relationships.
type noEntities struct{}

func (noEntities) Entity(string) *descriptor.Entity { return nil }

// having reads a filter over the columns.
func (in *aggregateInput) having(a *Aggregate) {
	v, ok := in.members["having"]
	if !ok {
		return
	}
	// The columns as an entity; one of them has to be its key.
	first := &a.columns[0]
	rows := &descriptor.Entity{Resource: catalog.Resource{Name: "the aggregate", Key: first.field}, Key: first.inner}
	for i := range a.columns[1:] {
		rows.Resource.Fields = append(rows.Resource.Fields, a.columns[1+i].field)
		rows.Columns = append(rows.Columns, a.columns[1+i].inner)
	}
	tree, details := filter.Check(v, rows, noEntities{}, "/having", nil)
	for i := range details {
		if strings.HasPrefix(details[i].Message, "unknown field") {
			details[i].Message += a.columnsHint()
		}
	}
	in.details = append(in.details, details...)
	a.having = tree
}

// columnsHint ends a message about a column that is not there.
func (a *Aggregate) columnsHint() string {
	names := make([]string, len(a.columns))
	for i := range a.columns {
		names[i] = a.columns[i].name
	}
	more := ""
	if !slices.Contains(names, string(count)) {
		more = "; count: true adds the column count"
	}
	return " (there are: " + strings.Join(names, ", ") + ")" + more
}

// positions reads the sort. What it leaves open is sorted by the groups, so that
// the same data always gives the same rows.
func (in *aggregateInput) positions(a *Aggregate) {
	known := make([]string, len(a.columns))
	for i := range a.columns {
		known[i] = a.columns[i].name
	}
	taken := map[int]bool{}
	if v, ok := in.members["sort"]; ok {
		names, _ := in.sortNames(v, "/sort", "columns")
		for _, n := range names {
			name, descending := n.descending()
			i := slices.Index(known, name)
			switch {
			case i < 0:
				in.fail(n.at, "unknown column "+filter.Quote(name)+" of the aggregate"+fault.DidYouMean(name, known)+a.columnsHint())
				continue
			case taken[i]:
				in.fail(n.at, filter.Quote(name)+" is in the sort more than once")
			}
			taken[i] = true
			a.order = append(a.order, position{i, descending, n.nulls})
		}
	}
	for i := range a.groups {
		if !taken[i] {
			a.order = append(a.order, position{column: i})
		}
	}
}

// AggregateSchema is the input schema of the operation aggregate. What it refuses
// DecodeAggregate refuses too.
func AggregateSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	list := func(text string) object {
		return object{"type": []string{"string", "array"}, "items": object{"type": "string"}, "minItems": 1, "description": text}
	}
	by := object{
		"type": []string{"string", "array", "object"}, "items": object{"type": []string{"string", "object"}}, "minItems": 1,
		"properties": object{"field": object{"type": "string"}, "by": object{"enum": units}, "as": object{"type": "string", "pattern": ownName}},
		"required":   []string{"field"}, "additionalProperties": false,
		"description": `Fields or to-one relationships: "a,b" or ["a"]; times by day, week, month or year (of timeZone): {field: "createdAt", by: "month"} is the column createdAtMonth, its value the start; "as" renames.`,
	}
	counts := object{
		"type": []string{"boolean", "object"}, "minProperties": 1, "additionalProperties": false,
		"properties":  object{"all": object{"type": "boolean"}, "distinct": list("Fields.")},
		"description": "true: the column count. {distinct: \"f\"}: different values, the column distinctF; all: true adds count.",
	}
	return inputSchema(object{
		"filter": FilterByName(e, g), "groupBy": by, "count": counts,
		"sum": list("Fields; of effort the column sumEffort. The same for avg, min, max."), "avg": list("Fields."), "min": list("Fields."), "max": list("Fields."),
		"having":   object{"type": "object", "description": "A filter over the columns of the result: {count: {$gt: 1}}."},
		"timeZone": object{"type": "string", "description": "Where buckets of times begin: \"Europe/Berlin\". Default UTC."},
		"sort":     sortSchema("Columns of the result: \"-count\"."),
		"limit":    object{"type": "integer", "minimum": 1, "maximum": maxRows, "description": "Rows; without it more than " + strconv.Itoa(DefaultRows) + " are a failure."},
		"set":      SetSchema(&e.Resource),
	}, nil)
}
