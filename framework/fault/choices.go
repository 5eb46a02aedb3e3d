package fault

import (
	"fmt"
	"strings"
)

// Choices bounds: a list of thousands of values would hide what is wrong.
const (
	maxChoices     = 20
	maxChoiceBytes = 400
)

// Choices returns a list of values that may be given, to show it in a message: the first ones, and
// how many others there are.
func Choices(values []string) string {
	shown, bytes := 0, 0
	for shown < len(values) && shown < maxChoices && (shown == 0 || bytes+len(values[shown]) <= maxChoiceBytes) {
		bytes += len(values[shown]) + len(", ")
		shown++
	}
	if len(values)-shown == 1 { // to say so is no shorter
		shown++
	}
	first := make([]string, shown)
	for i := range first {
		first[i] = Clip(values[i], maxChoiceBytes)
	}
	if left := len(values) - shown; left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(first, ", "), left)
	}
	return strings.Join(first, ", ")
}
