package catalog

import "slices"

// The entities through which callers read the journal (key journal.expose).
const (
	JournalRuns  = "KoanRun"
	JournalCalls = "KoanCall"
)

// unroutedPaths are the paths below /api that are not those of entities (CONTRACT section 11).
var unroutedPaths = []string{"actions", "console", "events", "files", "plugins"}

// ReservedPaths returns the paths below /api that entities cannot have, sorted: those of the routes
// of REST.
func ReservedPaths() []string { return slices.Clone(unroutedPaths) }

// IsReserved reports whether Koan itself has an entity of this name, so that an app cannot.
func IsReserved(entity string) bool {
	return slices.ContainsFunc([]string{JournalRuns, JournalCalls}, func(own string) bool { return Kebab(own) == Kebab(entity) })
}

// Routed reports whether an entity of this name has routes in REST: the path of some is that
// of something else. path is its own below /api.
func Routed(entity string) (path string, ok bool) {
	path = Kebab(entity)
	return path, !slices.Contains(unroutedPaths, path)
}
