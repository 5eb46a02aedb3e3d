package ledger

import (
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// withColumn returns the statement that adds a column to a table which an earlier
// version made without it, and withoutColumn one that drops it. Where there is nothing to
// do PostgreSQL takes no lock, which would wait for whoever reads the table at length.
// SQLite knows no condition: whoever executes it takes the error for what it means
// (database.Owner).
func withColumn(d sqltext.Dialect, table, column, definition string) string {
	return alterStatement(d, table, column, "NOT EXISTS", "ADD COLUMN "+column+" "+definition)
}

func withoutColumn(d sqltext.Dialect, table, column string) string {
	return alterStatement(d, table, column, "EXISTS", "DROP COLUMN "+column)
}

func alterStatement(d sqltext.Dialect, table, column, condition, change string) string {
	alter := "ALTER TABLE " + table + " " + change
	if d.Name() == dialect.SQLite {
		return alter
	}
	return fmt.Sprintf("DO $$ BEGIN IF %s (SELECT FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '%s' AND column_name = '%s') THEN %s; END IF; END $$",
		condition, table, column, alter)
}
