package framework

import (
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/replay"
)

// participants take part in every run of an instance.
type participants struct {
	tapes   *replay.Tapes
	journal *record.Journal
}

// takePart has the participants join the engine. Their order here is the one in which they
// are asked in every phase of a run: the journal comes last, since what others do belongs
// into its record.
func (i *Instance) takePart() {
	i.tapes = replay.New(i.engine, i.tapeOptions())
	i.journal = record.New(record.Options{Redactor: i.redactor, ToolVersion: i.app.Version}).Add(journal.Log{Logger: i.log})
	i.engine.Join(i.tapes, i.journal)
}
