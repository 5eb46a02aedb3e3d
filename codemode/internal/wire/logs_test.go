package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogBudget(t *testing.T) {
	for name, c := range map[string]struct {
		entries, bytes int
		in             []string
		want           []string // "…" stands for the marker
	}{
		"all fit":          {2, 10, []string{"a", "b"}, []string{"a", "b"}},
		"too many entries": {1, 10, []string{"a", "b", "c"}, []string{"a", "…"}},
		"too many bytes":   {9, 3, []string{"ab", "cd", "e"}, []string{"ab", "c", "…"}},
		"no byte left":     {9, 2, []string{"ab", "cd"}, []string{"ab", "…"}},
		"cut inside rune":  {9, 2, []string{"aä"}, []string{"a", "…"}},
		"nothing at all":   {0, 0, []string{"a", "b"}, []string{"…"}},
		"empty messages":   {2, 0, []string{"", "", ""}, []string{"", "", "…"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := LogBudget{MaxEntries: c.entries, MaxBytes: c.bytes}
			var got []string
			for _, m := range c.in {
				for _, l := range b.Admit(Log{Level: "info", Message: m}) {
					if l.Level == "warn" {
						l.Message = "…"
					}
					got = append(got, l.Message)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
