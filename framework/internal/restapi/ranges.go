package restapi

import (
	"strconv"
	"strings"
)

// fileRange is a Range header as net/http reads it, of a file with so many bytes: "" for one that is
// to be ignored, since it counts in other units than bytes (RFC 9110, section 14.2). net/http rejects
// those, and sends a part of no bytes for the last 0, which no file can satisfy (section 14.1.2), and
// for the end of a file of none, which has no parts.
func fileRange(header string, size int64) string {
	unit, list, ok := strings.Cut(header, "=")
	if size == 0 || !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return ""
	}
	var kept []string
	parts := strings.Split(list, ",")
	for _, part := range parts {
		last, isSuffix := strings.CutPrefix(strings.TrimSpace(part), "-")
		if last = strings.TrimSpace(last); isSuffix && last != "" && strings.Trim(last, "0") == "" {
			continue
		}
		kept = append(kept, part)
	}
	if len(kept) < len(parts) && len(kept) == 0 { // which begins behind the end, and is rejected so
		kept = []string{strconv.FormatInt(size, 10) + "-"}
	}
	return "bytes=" + strings.Join(kept, ",")
}
