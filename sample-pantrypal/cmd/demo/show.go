package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// show prints everything that came of the run.
func show(w io.Writer, r *report, p palette) {
	fmt.Fprintf(w, "\n  %s %s\n", p.bold("PantryPal:"), p.dim("a photo of groceries becomes dinner"))
	showAnswer(w, r.Answer, p)
	for _, l := range r.Logs {
		if l.Level == "warn" || l.Level == "error" {
			fmt.Fprintf(w, "  %s\n", p.yellow(l.Level+": "+l.Message))
		}
	}
	showChanges(w, r.Changes, p)
	showCalls(w, r.Calls, p)
	showComparison(w, r, p)
}

// showChanges prints one row for each changed entity, kind by kind in the order
// in which the script came to them.
func showChanges(w io.Writer, changes []change, p palette) {
	merged := merge(changes)
	counts := map[string]int{}
	var order []string
	for _, c := range merged {
		counts[c.Action]++
		if !slices.Contains(order, c.Entity) {
			order = append(order, c.Entity)
		}
	}
	slices.SortStableFunc(merged, func(a, b change) int { return slices.Index(order, a.Entity) - slices.Index(order, b.Entity) })
	var rows [][]cell
	previous := ""
	for _, c := range merged {
		entity := c.Entity
		if entity == previous {
			entity = ""
		}
		previous = c.Entity
		tint := map[string]func(string) string{"create": p.green, "update": p.cyan, "delete": p.red}[c.Action]
		rows = append(rows, []cell{{text: entity}, {text: c.Action, tint: tint}, {text: label(c)}, {text: difference(c), tint: p.dim}})
	}
	title := fmt.Sprintf("What changed: %d created, %d updated, %d deleted", counts["create"], counts["update"], counts["delete"])
	section(w, p, title, []string{"entity", "action", "which", "what"}, rows)
}

// merge makes one change of all that happened to one entity in the run: what was
// created and then updated is new.
func merge(changes []change) []change {
	at := map[[2]string]int{}
	var out []change
	for _, c := range changes {
		key := [2]string{c.Entity, c.ID}
		i, seen := at[key]
		if !seen {
			at[key] = len(out)
			out = append(out, c)
			continue
		}
		out[i].After = c.After
		if c.Action == "delete" {
			out[i].Action = c.Action
		}
	}
	return slices.DeleteFunc(out, func(c change) bool { return c.Before == nil && c.After == nil }) // came and went
}

// label names a changed entity as a person would, "" for one without a name.
func label(c change) string {
	of := c.After
	if of == nil {
		of = c.Before
	}
	for _, field := range []string{"name", "fileName", "itemName", "value", "date"} {
		if s, ok := of[field].(string); ok && s != "" {
			return value(s)
		}
	}
	return ""
}

// shownFields are the fields that are shown of a new entity, in this order.
var shownFields = map[string][]string{
	"PantryPhoto":  {"status"},
	"Detection":    {"kind", "status"},
	"PantryItem":   {"amount", "unit", "place"},
	"PantryEvent":  {"kind", "amount", "unit", "reason"},
	"MealPlan":     {"start", "end"},
	"PlannedMeal":  {"mealType", "status"},
	"ShoppingItem": {"amount", "unit", "aisle"},
	"ShoppingNeed": {"amount", "unit"},
	"Leftover":     {"servings", "place"},
}

// difference says what a change changed, or what a new entity is.
func difference(c change) string {
	var parts []string
	switch {
	case c.Before == nil:
		for _, field := range shownFields[c.Entity] {
			if v, ok := c.After[field]; ok && v != nil && v != "" {
				parts = append(parts, strings.ReplaceAll(value(v), "_", " "))
			}
		}
		return strings.Join(parts, " ")
	case c.After == nil:
		return ""
	}
	for _, field := range slices.Sorted(maps.Keys(c.After)) {
		before, after := value(c.Before[field]), value(c.After[field])
		switch {
		case before == after || field == "version":
		case strings.HasSuffix(field, "Id"): // ids tell a reader nothing
			parts = append(parts, "linked to its "+words(strings.TrimSuffix(field, "Id")))
		default:
			parts = append(parts, fmt.Sprintf("%s %s -> %s", words(field), before, after))
		}
	}
	return strings.Join(parts, ", ")
}

// words spells a camelCase name: pantryItem is "pantry item".
func words(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// value shows a JSON value: times as days, the rest as they are.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.Format(time.DateOnly)
		}
		return v
	case float64:
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func showCalls(w io.Writer, calls []call, p palette) {
	var rows [][]cell
	longest := 0.0
	for _, c := range calls {
		longest = max(longest, c.DurationMs)
	}
	for i, c := range calls {
		if c.Parent != "" {
			continue
		}
		took, bar := "<1 ms", ""
		if c.DurationMs >= 1 {
			took = fmt.Sprintf("%.0f ms", c.DurationMs)
			bar = strings.Repeat("▪", int(math.Ceil(barLength*c.DurationMs/longest)))
		}
		outcome := cell{text: bar, tint: p.dim}
		if !c.OK {
			outcome = cell{text: "failed", tint: p.red}
		}
		rows = append(rows, []cell{{text: strconv.Itoa(i + 1), right: true, tint: p.dim}, {text: c.ToolName}, {text: took, right: true}, outcome})
	}
	section(w, p, fmt.Sprintf("Calls of the script (%d, with those of its actions)", len(calls)), []string{"#", "call", "time"}, rows)
}

// barLength is how long the bar of the longest call is.
const barLength = 24

func showComparison(w io.Writer, r *report, p palette) {
	took := fmt.Sprintf("%d ms", r.Took.Milliseconds())
	asked := 0 // the others are made by actions
	for _, c := range r.Calls {
		if c.Parent == "" {
			asked++
		}
	}
	fmt.Fprintf(w, "\n  %s, %s, %s. %s\n\n", p.bold("One round trip"), p.bold(plural(len(r.Calls), "SDK call")), p.bold(took),
		p.dim("As tools it would have been "+plural(asked, "call")+", each with a model's turn between."))
}

// showUndo says what an undo restored.
func showUndo(w io.Writer, r *report, p palette) {
	restored := 0
	for _, c := range r.Counts {
		restored += c.Created + c.Updated + c.Deleted
	}
	fmt.Fprintf(w, "  %s %s\n\n", p.bold("Undone:"), p.dim(fmt.Sprintf("%s of %s restored in one call, %d ms. The evening has left no trace.", plural(restored, "row"), plural(len(r.Counts), "kind"), r.Took.Milliseconds())))
}

// describe explains an error to a person.
func describe(err error, p palette) string {
	var f *failure
	if !errors.As(err, &f) {
		return p.red("demo: ") + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  %s", p.red("the script failed:"), p.bold(f.Code), f.Message)
	if f.Line > 0 {
		fmt.Fprintf(&b, "\n  at line %d, column %d", f.Line, f.Column)
	}
	if f.Path != "" {
		fmt.Fprintf(&b, "\n  about %s", f.Path)
	}
	fmt.Fprintf(&b, "\n  hint: %s", f.Hint)
	if f.committed {
		return b.String() + "\n  Part of what it did is in the data nevertheless."
	}
	return b.String() + "\n  Nothing was changed."
}
