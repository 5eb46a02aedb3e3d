package journal

import (
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/framework/fault"
)

// Fault returns a fault without the secrets in its texts, and how many there were. It may
// quote a script, or what the app's own code said.
func (r *Redactor) Fault(f *fault.Fault) (*fault.Fault, int) {
	clean, n := *f, 0
	for _, text := range []*string{&clean.Message, &clean.Hint, &clean.Source, &clean.Path} {
		var found int
		*text, found = r.Text(*text)
		n += found
	}
	var found int
	clean.Details, found = r.details(f.Details)
	if n += found; n == 0 {
		return f, 0
	}
	return &clean, n
}

func (r *Redactor) details(details any) (any, int) {
	if details == nil {
		return nil, 0
	}
	list, ok := details.([]fault.Detail)
	if !ok {
		raw, err := json.Marshal(details)
		if err != nil {
			return details, 0
		}
		clean, n := r.FailureJSON(raw)
		if n == 0 {
			return details, 0
		}
		return json.RawMessage(clean), n
	}
	clean, n := slices.Clone(list), 0
	for i := range clean {
		for _, text := range []*string{&clean[i].Path, &clean[i].Message, &clean[i].Expected, &clean[i].Received} {
			var found int
			*text, found = r.Text(*text)
			n += found
		}
	}
	if n == 0 {
		return details, 0
	}
	return clean, n
}
