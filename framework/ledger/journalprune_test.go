package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAboveShare(t *testing.T) {
	for name, c := range map[string]struct {
		used []Excess
		most int64
		want []Excess
	}{
		"room for all":              {[]Excess{{"a", 10}, {"b", 20}}, 30, nil},
		"nobody":                    {nil, 0, nil},
		"one caller":                {[]Excess{{"a", 50}}, 30, []Excess{{"a", 20}}},
		"a flood beside a little":   {[]Excess{{"flood", 1000}, {"little", 10}}, 100, []Excess{{"flood", 910}}},
		"two above an even share":   {[]Excess{{"a", 60}, {"b", 80}, {"c", 10}}, 90, []Excess{{"a", 20}, {"b", 40}}},
		"a share that others leave": {[]Excess{{"a", 10}, {"b", 45}, {"c", 60}}, 100, []Excess{{"c", 15}}},
		"nothing may be left":       {[]Excess{{"a", 1}, {"b", 2}}, -5, []Excess{{"a", 1}, {"b", 2}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, aboveShare(c.used, c.most)) })
	}
}
