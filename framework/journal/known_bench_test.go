package journal

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkKnown redacts what a run says in an app that knows three secrets, and in one that knows none.
func BenchmarkKnown(b *testing.B) {
	texts := map[string]string{"name": "Spinach and Feta Frittata", "script": strings.Repeat("const page = SDK.Entities.Todo.collection({ pageSize: 5 });\n", 100)}
	for _, secrets := range []int{0, 3} {
		values := make([]string, secrets)
		for i := range values {
			values[i] = "s3cr3t-0123456789abcdef-" + strconv.Itoa(i)
		}
		for name, text := range texts {
			b.Run(name+"/"+strconv.Itoa(secrets), func(b *testing.B) {
				r, err := NewRedactor(nil)
				require.NoError(b, err)
				r.Know(func() []string { return values })
				for b.Loop() {
					r.Text(text)
				}
			})
		}
	}
}
