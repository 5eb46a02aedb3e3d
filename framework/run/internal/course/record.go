package course

import "time"

// Record is one call as the result of a run lists it (CONTRACT section 2).
type Record struct {
	ServerID   string `json:"serverId"`
	ToolName   string `json:"toolName"`         // "" for a call that the run's caller must not learn of
	Parent     string `json:"parent,omitempty"` // the action that made the call
	OK         bool   `json:"ok"`
	DurationMs int64  `json:"durationMs"`
	Error      string `json:"error,omitempty"` // at most 300 characters

	Elapsed time.Duration `json:"-"`
}

// maxError bounds the error's text in a Record, in characters.
const maxError = 300

// Excerpt returns the beginning of a text, as in a Record.
func Excerpt(text string) string {
	if r := []rune(text); len(r) > maxError {
		return string(r[:maxError]) + "…"
	}
	return text
}
