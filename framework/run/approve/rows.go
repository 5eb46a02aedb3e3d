package approve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/run/store"
)

// writeCounts is a table of how many rows of what are deleted, changed and made, what
// deletes most first.
func (t *planText) writeCounts(p *Plan, counts []store.ChangeCount) {
	switch {
	case len(counts) == 0 && p.Call != nil:
		t.WriteString("No data has been changed so far.\n")
		return
	case len(counts) == 0:
		t.WriteString("It changes no data.\n")
		return
	case p.Call != nil:
		t.WriteString("\nChanged so far, and not committed yet:\n")
	default:
		t.WriteString("\n")
	}
	slices.SortStableFunc(counts, func(a, b store.ChangeCount) int { return cmp.Compare(b.Deleted, a.Deleted) })
	table := [][]string{{"entity", "set", "deleted", "updated", "created"}}
	line := func(entity, set string, c store.ChangeCount) {
		table = append(table, []string{entity, set, strconv.Itoa(c.Deleted), strconv.Itoa(c.Updated), strconv.Itoa(c.Created)})
	}
	shown := len(counts)
	if shown > t.bounds.tableLines {
		shown = t.bounds.tableLines - 1
	}
	for _, c := range counts[:shown] {
		line(c.Entity, plain(clipped(c.Set, t.bounds.value)), c)
	}
	if rest := counts[shown:]; len(rest) > 0 {
		var sum store.ChangeCount
		for _, c := range rest {
			sum.Deleted, sum.Updated, sum.Created = sum.Deleted+c.Deleted, sum.Updated+c.Updated, sum.Created+c.Created
		}
		line("(others)", strconv.Itoa(len(rest))+" more", sum)
	}
	t.writeTable(table)
	t.WriteString("\n")
}

// writeTable aligns names left and numbers right.
func (t *planText) writeTable(table [][]string) {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range table {
		for i, cell := range line {
			if pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)); i < 2 {
				t.WriteString("  " + cell + pad)
			} else {
				t.WriteString("  " + pad + cell)
			}
		}
		t.WriteString("\n")
	}
}

// writeRows shows the first rows with before and after, deletions before everything
// else, and says of the others how many of each kind there are.
func (t *planText) writeRows(changes []store.Change, counts []store.ChangeCount) {
	order := map[store.Action]int{store.Delete: 0, store.Update: 1, store.Create: 2}
	sorted := slices.SortedStableFunc(slices.Values(changes), func(a, b store.Change) int { return cmp.Compare(order[a.Action], order[b.Action]) })
	for i, c := range sorted {
		if i == t.bounds.rows || t.Len() > t.bounds.text {
			t.writeRest(without(counts, store.Counts(sorted[:i])))
			return
		}
		t.printf("%s %s %s\n", c.Action, c.Entity, or(t.id(c.ID), "(a row that is not shown)"))
		t.writeFields(c)
	}
	t.writeRest(without(counts, store.Counts(sorted)))
}

// writeRest says of the rows that are not shown how many of each kind there are, if there are any.
func (t *planText) writeRest(counts []store.ChangeCount) {
	if rows(counts) == 0 {
		return
	}
	var parts []string
	for _, action := range []struct {
		done string
		of   func(store.ChangeCount) int
	}{
		{"deleted", func(c store.ChangeCount) int { return c.Deleted }},
		{"updated", func(c store.ChangeCount) int { return c.Updated }},
		{"created", func(c store.ChangeCount) int { return c.Created }},
	} {
		if kinds := countKinds(counts, action.of); len(kinds) > 0 {
			parts = append(parts, kinds.String()+" "+action.done)
		}
	}
	t.printf("… and %s: %s\n", quantity(rows(counts), "more row"), strings.Join(parts, "; "))
}

// writeFields shows what changed in a row: all that it has where it comes or goes.
func (t *planText) writeFields(c store.Change) {
	var before, after map[string]json.RawMessage
	_ = json.Unmarshal(c.Before, &before) // made by us; nil where it is absent
	_ = json.Unmarshal(c.After, &after)
	all := maps.Clone(before)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, after)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return bytes.Equal(before[name], after[name]) || string(all[name]) == "null" && c.Action != store.Update || name == "id"
	})
	more := len(names) - t.bounds.fields
	if more > 0 {
		names = names[:t.bounds.fields]
	}
	width := 0
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, name := range names {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(name))
		switch c.Action {
		case store.Create:
			t.printf("    %s%s  %s\n", plain(name), pad, t.value(after[name]))
		case store.Delete:
			t.printf("    %s%s  %s\n", plain(name), pad, t.value(before[name]))
		case store.Update:
			from, to := t.values(before[name], after[name])
			t.printf("    %s%s  %s -> %s\n", plain(name), pad, from, to)
		}
	}
	if more > 0 {
		t.printf("    … and %s\n", quantity(more, "more field"))
	}
}
