package migrations

import (
	"context"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// setState is the state of a set, for `migrate status` and doctor.
type setState struct {
	Set      string        `json:"set"`
	State    migrate.State `json:"state"`
	At       string        `json:"at"`
	Made     string        `json:"made,omitempty"`
	Migrated string        `json:"migrated,omitempty"`
	Pending  []string      `json:"pending,omitempty"`
	Why      string        `json:"why,omitempty"`
	Do       string        `json:"do,omitempty"`
	// Leftovers are rows with values that the schema does not have any more.
	Leftovers []string `json:"leftovers,omitempty"`
	// Unindexed are references of large tables that no index helps to follow.
	Unindexed []string `json:"unindexed,omitempty"`
}

// setStates finds out the state of sets without changing them.
func setStates(ctx context.Context, b database.Backend, w migrate.Way, sets []string) ([]setState, error) {
	var out []setState
	for _, set := range sets {
		err := b.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			v, err := w.Judge(ctx, drv)
			if err != nil {
				return err
			}
			s, err := ledger.ReadSet(ctx, drv)
			if err != nil {
				return err
			}
			if v.State == migrate.Current {
				if err := v.Compare(ctx, drv, w); err != nil {
					return err
				}
			}
			left, err := w.Leftovers(ctx, drv)
			if err != nil {
				return err
			}
			slow, err := w.Unindexed(ctx, drv)
			if err != nil {
				return err
			}
			out = append(out, setState{set, v.State, v.At, formatTime(s.Made), formatTime(s.Migrated()), v.Pending, v.Explain(), v.Do, left, slow})
			return nil
		})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			f := fault.From(WithDatabaseMessage(set, err))
			out = append(out, setState{Set: set, State: migrate.Apart, At: "unknown", Why: f.Message, Do: f.Hint})
		}
	}
	return out, nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// CheckTables compares sets with the app's schema, for doctor. all is how many sets there
// are.
func (c *Config) CheckTables(ctx context.Context, b database.Backend, w migrate.Way, sets []string, all int) catalog.Check {
	out := catalog.Check{Name: "schema"}
	states, err := setStates(ctx, b, w, sets)
	if err != nil {
		out.Detail, out.Hint = err.Error(), fault.From(err).Hint
		return out
	}
	out.OK, out.Detail = true, fmt.Sprintf("migrations %s; %d of %s checked, all current", c.Mode, len(sets), CountSets(all))
	for _, s := range states {
		if s.State == migrate.Current {
			if len(s.Leftovers) > 0 && out.OK {
				out.OK, out.Detail, out.Hint = false, s.Set+": "+strings.Join(s.Leftovers, "; "), "Everything else works. Until then reads give these values, and no filter finds them."
			}
			if len(s.Unindexed) > 0 && out.OK {
				out.Detail += "; " + s.Set + ": " + strings.Join(s.Unindexed, "; ") + " (index.Edges in the schema makes one)"
			}
			continue
		}
		out.Detail, out.Hint = fmt.Sprintf("the tables of %s are %s: %s", s.Set, s.State, s.Why), s.Do
		// A set that is migrated at its next use is not a failure.
		if out.OK = s.State == migrate.Behind && c.Mode == inPlace; !out.OK {
			break
		}
	}
	return out
}

var moods = map[migrate.State]catalog.Mood{migrate.Current: catalog.Good, migrate.Behind: catalog.Bad, migrate.Ahead: catalog.Bad, migrate.Apart: catalog.Bad}

func printStates(out catalog.Printer, place, mode string, states []setState) {
	out.Printf("%s, migrations %s, %s\n", place, mode, CountSets(len(states)))
	if len(states) == 0 {
		return
	}
	rows := [][]catalog.Cell{{{Text: "SET", Mood: catalog.Faint}, {Text: "STATE", Mood: catalog.Faint}, {Text: "AT", Mood: catalog.Faint}, {Text: "MADE", Mood: catalog.Faint}, {Text: "MIGRATED", Mood: catalog.Faint}}}
	for _, s := range states {
		rows = append(rows, []catalog.Cell{{Text: s.Set}, {Text: string(s.State), Mood: moods[s.State]}, {Text: s.At}, {Text: orDash(s.Made)}, {Text: orDash(s.Migrated)}})
	}
	out.Table(rows)
	// What holds for many sets is said once.
	var order []string
	same := map[string][]string{}
	for _, s := range states {
		if s.State == migrate.Current {
			continue
		}
		text := s.Why + "\n  " + s.Do
		if same[text] == nil {
			order = append(order, text)
		}
		same[text] = append(same[text], s.Set)
	}
	for _, text := range order {
		out.Printf("\n%s: %s\n", ListSome(same[text]), text)
	}
	for _, s := range states {
		for _, l := range s.Leftovers {
			out.Printf("\n%s: %s\n", s.Set, l)
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ListSome lists the first of many sets.
func ListSome(sets []string) string {
	const most = 5
	if len(sets) <= most {
		return strings.Join(sets, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sets[:most], ", "), len(sets)-most)
}

// CountSets names a number of sets.
func CountSets(n int) string {
	if n == 1 {
		return "1 set"
	}
	return fmt.Sprintf("%d sets", n)
}
