package quantity

import "strings"

// qualifiers are words that say size, quality or preparation, and never which
// food it is. Words such as "dried", "ground", "smoked", "canned", "frozen",
// "cooked", "sweet" or a colour make another food and are not among them: a food
// that has such a form says so in its aliases.
var qualifiers = set(`
	small medium large big sized size
	fresh freshly ripe firm organic quality good plump
	finely coarsely roughly thinly thickly lightly well very
	chopped diced sliced minced crushed grated shredded peeled unpeeled trimmed halved quartered cubed torn picked
	cut crumbled snipped shaved juiced bruised julienned mashed pitted stoned seeded deseeded cored rinsed drained washed scrubbed sifted beaten melted softened
	toasted packed heaped heaping level rounded scant generous
	cold chilled warm boiling lukewarm
	whole uncooked raw boneless skinless
	a an of the each
	piece
`)

// parts are what a plant is counted in, and not another food: a stalk of celery is
// celery. Leaves are not among them: a leaf of lime is no lime.
var parts = set(`sprig stalk clove floret head bulb`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[singular(w)] = true
	}
	return out
}
