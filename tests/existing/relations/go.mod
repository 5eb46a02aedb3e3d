module example.org/club

go 1.26.0

require (
	entgo.io/ent v0.14.6
	github.com/mattn/go-sqlite3 v1.14.52
)
