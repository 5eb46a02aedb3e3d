package inspect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
)

func things() *Relation {
	column := func(name string, s descriptor.Storage) *Column { return &Column{Name: name, Value: Value{Storage: s}} }
	return &Relation{Name: "things", Columns: []*Column{column("status", descriptor.Text), column("n", descriptor.Int), column("x", descriptor.Float), column("Code Word", descriptor.Text)}}
}

func limits(check string) (enum []string, out map[string]float64) {
	r := things()
	r.Checks = []string{check}
	r.applyChecks()
	out = map[string]float64{}
	for _, c := range r.Columns {
		enum = append(enum, c.Enum...)
		for name, n := range map[string]*float64{"min ": c.Min, "max ": c.Max} {
			if n != nil {
				out[name+c.Name] = *n
			}
		}
		for name, n := range map[string]*int{"shortest ": c.MinLength, "longest ": c.MaxLength} {
			if n != nil {
				out[name+c.Name] = float64(*n)
			}
		}
	}
	return enum, out
}

func TestChecksBecomeLimits(t *testing.T) {
	for check, want := range map[string]map[string]float64{
		"n > 0":                               {"min n": 1},
		"0 < n AND n <= 10":                   {"min n": 1, "max n": 10},
		"n BETWEEN -1 AND +5":                 {"min n": -1, "max n": 5},
		"((n >= 1) AND (n <= 5))":             {"min n": 1, "max n": 5},
		"(x >= (0)::numeric)":                 {"min x": 0},
		"x > 0":                               {}, // excludes what a limit would include
		`length("Code Word") <= 8`:            {"longest Code Word": 8},
		"length([Code Word]) BETWEEN 2 AND 4": {"shortest Code Word": 2, "longest Code Word": 4},
		"(char_length((status)::text) < 10)":  {"longest status": 9},
		"n IS NULL OR n >= 3":                 {"min n": 3},
		"n >= 3 OR x >= 4":                    {},
		"n + 1 > 3":                           {},
		"n > 3 AND lower(status) = status":    {"min n": 4},
		"NOT n > 3":                           {},
		"n > (SELECT 1)":                      {},
		"status IS NULL OR n > 2":             {},
	} {
		_, got := limits(check)
		require.Equal(t, want, got, check)
	}
	for check, want := range map[string][]string{
		"status IN ('a', 'it''s')":     {"a", "it's"},
		"status = 'a' OR status = 'b'": {"a", "b"},
		"((status)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))": {"a", "b"},
		"status NOT IN ('a')":               nil,
		"status IN ('a', n)":                nil,
		"status IS NULL OR status IN ('a')": {"a"},
		"status = 'a' OR n = 1":             nil,
	} {
		got, _ := limits(check)
		require.Equal(t, want, got, check)
	}
}

func TestChecksAreFoundInADefinition(t *testing.T) {
	require.Equal(t, []string{"n > 0", " status IN (')', 'b') "}, checksIn("CREATE TABLE t (n INT CHECK (n > 0), -- CHECK (no)\n status TEXT, \"CHECK\" INT, CONSTRAINT c CHECK ( status IN (')', 'b') )) /* CHECK (x) */"))
}

func TestDefaults(t *testing.T) {
	for text, want := range map[string]*Literal{
		"'it''s'": {"it's", true}, "-1.5": {"-1.5", false}, "(7)": {"7", false}, "TRUE": {"TRUE", false}, "'a'::character varying": {"a", true},
	} {
		got, computed := parseDefault(text)
		require.Equal(t, want, got, text)
		require.False(t, computed)
	}
	for _, text := range []string{"CURRENT_TIMESTAMP", "now()", "nextval('s'::regclass)", "1 + 1"} {
		_, computed := parseDefault(text)
		require.True(t, computed, text)
	}
	got, computed := parseDefault("NULL")
	require.Nil(t, got)
	require.False(t, computed)
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"n > 0", "status IN ('a')", "x = ANY (ARRAY['a'::text])", "CAST(n AS INT) >= 1", "[a b] = \"c\"", "((((", "'", "-- x", "/*/", "1e+"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := things()
		r.Checks = append(checksIn(text), text)
		r.applyChecks()
		parseDefault(text)
		sqliteValue(text)
		if form := timeForm(text); form != "" && form != dayForm {
			shown, err := timeText(form).Show(text)
			require.NoError(t, err)
			held, err := timeText(form).Bind(shown)
			require.NoError(t, err)
			require.Equal(t, text, held)
		}
	})
}
