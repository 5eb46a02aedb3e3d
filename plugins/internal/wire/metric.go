package wire

import "strings"

// MaxMetrics is how many metrics a manifest may have, MaxSpans how many spans of one call an app takes, and
// MaxSpanName bounds the name of one, in bytes.
const (
	MaxMetrics  = 50
	MaxSpans    = 100
	MaxSpanName = 64
)

// ends are those of names that Prometheus gives to metrics itself, so that two of a plugin would be one.
var ends = []string{"_total", "_bucket", "_sum", "_count", "_created", "_info"}

// ValidMetric reports whether a plugin may have a metric of that name.
func ValidMetric(name string) bool {
	for _, end := range ends {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return len(name) <= 64 && snakeCase.MatchString(name)
}
