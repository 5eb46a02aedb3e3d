package framework

import (
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/record"
)

// participants take part in every run of an instance.
type participants struct {
	journal *record.Journal
}

// takePart has the participants join the engine. Their order here is the one in which they
// are asked in every phase of a run: the journal comes last, since what others do belongs
// into its record.
func (i *Instance) takePart() {
	i.journal = record.New(record.Options{Redactor: i.redactor, ToolVersion: i.app.Version}).Add(journal.Log{Logger: i.log})
	i.engine.Join(i.journal)
}
