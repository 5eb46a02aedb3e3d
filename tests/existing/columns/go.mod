module example.org/library

go 1.26.0

require (
	entgo.io/ent v0.14.6
	github.com/jackc/pgx/v5 v5.12.0
)
