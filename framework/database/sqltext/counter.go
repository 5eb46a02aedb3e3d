package sqltext

// MaxCounted is the largest chosen id that a counter is moved past. One beyond it, which may be as
// large as an id can be, would leave the counter few ids or none, and no counter reaches it.
const MaxCounted = 1 << 62

// CountPast implements Dialect. A sequence knows nothing of ids that are given, and what moves it is
// not rolled back: that leaves a gap. Short ways go by nextval, since another transaction may count
// at the same time and setval would take its ids back.
func (PostgreSQL) CountPast(b *Builder, table, column string, id int64) {
	b.Raw("SELECT CASE WHEN g.gap>1000 THEN setval(g.seq,g.id) WHEN g.gap>0 THEN (SELECT max(c.n) FROM (SELECT nextval(g.seq) AS n FROM generate_series(1,g.gap)) c) END FROM (" +
		"SELECT s.seq,s.id,CASE WHEN q.seqincrement>0 AND s.id<=q.seqmax AND has_sequence_privilege(s.seq,'USAGE,SELECT') AND has_sequence_privilege(s.seq,'UPDATE') " +
		"THEN ceil((s.id::numeric-coalesce(pg_sequence_last_value(s.seq),q.seqstart-q.seqincrement))/q.seqincrement) ELSE 0 END AS gap FROM (" +
		"SELECT ").Arg(id).Raw(" AS id,pg_get_serial_sequence(").Arg(string(AppendName(nil, table))).Raw(",").Arg(column)
	b.Raw(")::regclass AS seq) s JOIN pg_sequence q ON q.seqrelid=s.seq) g")
}

// CountPast implements Dialect. AUTOINCREMENT counts on from the largest id that there was, which a
// row that is about to be stored is not yet.
func (SQLite) CountPast(b *Builder, table, _ string, id int64) {
	b.Raw("INSERT OR REPLACE INTO sqlite_sequence(rowid,name,seq) SELECT (SELECT rowid FROM sqlite_sequence WHERE name=").Arg(table)
	b.Raw("),").Arg(table).Raw(",").Arg(id)
	b.Raw(" WHERE NOT EXISTS(SELECT 1 FROM sqlite_sequence WHERE name=").Arg(table).Raw(" AND seq>=").Arg(id).Raw(")")
	b.Raw(" AND EXISTS(SELECT 1 FROM sqlite_master WHERE name=").Arg(table).Raw(" AND sql LIKE '%AUTOINCREMENT%')")
}
