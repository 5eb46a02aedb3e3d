package budget

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// decoded is what Go takes for a decoded JSON value: a map of a few members, a slice, and one member or
// element with its key.
var decoded = exact.Cost{Object: 384, Array: 48, Item: 64}

// minWeighed is how long a text must be for Weight to look into it: what is shorter takes
// little however it is decoded.
const minWeighed = 4 << 10

// Weight estimates how many bytes a JSON text takes with what it is decoded into.
func Weight(text json.RawMessage) int64 {
	n := int64(len(text))
	if n < minWeighed {
		return n
	}
	return n + decoded.Of(text)
}

// WeighInput returns the weight of an input, and refuses one that would take more than three
// quarters of what a run may hold: the rest is for what the call does with it.
func (b *Budget) WeighInput(input json.RawMessage) (int64, error) {
	n := Weight(input)
	if most := b.run / 4 * 3; n > most {
		return 0, fault.Newf(fault.CallTooLarge, "the input takes about %d bytes when it is decoded, at most %d are allowed (three quarters of run.maxBytes)", n, most).
			WithHint("Send less in one call: smaller lists and fewer nested objects.").
			WithDetails(map[string]any{"limitBytes": most})
	}
	return n, nil
}
