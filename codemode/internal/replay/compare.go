package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/replay"
)

// Compare compares the script's execution with its recording. res is what the executor
// returned, with the player as its host.
func (p *Player) Compare(res *wire.Result) *replay.Replayed {
	out := &replay.Replayed{Calls: p.calls, Notes: []string{}}
	if p.diff != nil {
		out.Difference = p.diff
		if f := res.Fault; f != nil {
			p.diff.Line, p.diff.Column = f.Line, f.Column
		}
		return out
	}
	then := p.script.Ending
	if p.cut || then.Cut {
		out.Notes = append(out.Notes, "the recorded run was interrupted; up to there it is compared")
		if out.Difference = diffEmitted(then.Emitted, res.Emitted, true); out.Difference == nil {
			out.Difference = diffLogs(then.Logs, res.Logs, true)
		}
		return out
	}
	if out.Difference = p.compareEnds(out, res); out.Difference == nil {
		out.Difference = p.results(res)
	}
	return out
}

// dependsOnMachine reports whether a script's end depends on how fast a machine is and how much
// memory it has, so that its place may differ each time.
func dependsOnMachine(c fault.Code) bool {
	return c == fault.Timeout || c == fault.MemoryExceeded
}

// compareEnds compares how the script ended.
func (p *Player) compareEnds(out *replay.Replayed, res *wire.Result) *replay.Difference {
	var then *fault.Fault
	if p.script.Ending.Fault != nil {
		then, _ = fault.Decode(p.script.Ending.Fault) // it was read before
	}
	now := res.Fault
	if then != nil && now != nil && then.Code == now.Code && dependsOnMachine(then.Code) {
		out.Notes = append(out.Notes, fmt.Sprintf("the script passes the same limit (%s); the place depends on the machine and is not compared", then.Code))
		return nil
	}
	if p.at < len(p.script.Turns) {
		t := &p.script.Turns[p.at]
		d := &replay.Difference{In: replay.InCall, Call: p.calls + 1, Operation: t.ID, Recorded: t.describe(), Now: "the script ended"}
		if now != nil {
			d.Now, d.Line, d.Column = describeEnd(now), now.Line, now.Column
		}
		return d
	}
	a, b := describeEnd(then), describeEnd(now)
	if a == b {
		return nil
	}
	d := &replay.Difference{In: replay.InError}
	d.Recorded, d.Now = replay.Excerpts(a, b)
	if now != nil {
		d.Line, d.Column = now.Line, now.Column
	}
	if then != nil && dependsOnMachine(then.Code) || now != nil && dependsOnMachine(now.Code) {
		out.Notes = append(out.Notes, "limits of time and memory depend on the machine and what else it does")
	}
	return d
}

// describeEnd describes the end of a script for people: all that a caller sees of a fault.
func describeEnd(f *fault.Fault) string {
	if f == nil {
		return "the script ended well"
	}
	text := f.Error()
	if f.Line > 0 {
		text += fmt.Sprintf(" (line %d, column %d)", f.Line, f.Column)
	}
	return text
}

func (p *Player) results(res *wire.Result) *replay.Difference {
	then := p.script.Ending
	if then.Fault == nil {
		for _, part := range []struct {
			in        string
			then, now json.RawMessage
		}{{replay.InResult, then.Result, res.Result}, {replay.InAnswer, then.Answer, res.Answer}} {
			if bytes.Equal(part.then, part.now) {
				continue
			}
			d := &replay.Difference{In: part.in}
			d.Recorded, d.Now = replay.Excerpts(resultText(part.then), resultText(part.now))
			return d
		}
	}
	interrupted := then.Fault != nil && dependsOnMachine(faultCode(then.Fault))
	if d := diffEmitted(then.Emitted, res.Emitted, interrupted); d != nil {
		return d
	}
	return diffLogs(then.Logs, res.Logs, interrupted)
}

// diffEmitted returns the first emitted value that differs. Of an interrupted run one of the
// two may end sooner.
func diffEmitted(then, now []json.RawMessage, interrupted bool) *replay.Difference {
	for i := range max(len(then), len(now)) {
		a, b := "no more values", "no more values"
		if i < len(then) {
			a = string(then[i])
		}
		if i < len(now) {
			b = string(now[i])
		}
		if a == b {
			continue
		}
		if interrupted && i >= min(len(then), len(now)) {
			return nil
		}
		d := &replay.Difference{In: replay.InEmitted}
		d.Recorded, d.Now = replay.Excerpts(a, b)
		return d
	}
	return nil
}

func faultCode(raw json.RawMessage) fault.Code {
	f, err := fault.Decode(raw)
	if err != nil {
		return ""
	}
	return f.Code
}

func resultText(raw json.RawMessage) string {
	if raw == nil {
		return "nothing"
	}
	return string(raw)
}

// diffLogs returns the first entry that differs. Of an interrupted run one of the two
// may end sooner.
func diffLogs(then, now []wire.Log, interrupted bool) *replay.Difference {
	for i := range max(len(then), len(now)) {
		a, b := "no more entries", "no more entries"
		if i < len(then) {
			a = line(then[i])
		}
		if i < len(now) {
			b = line(now[i])
		}
		if a == b {
			continue
		}
		if interrupted && i >= min(len(then), len(now)) {
			return nil
		}
		d := &replay.Difference{In: replay.InLogs}
		d.Recorded, d.Now = replay.Excerpts(a, b)
		return d
	}
	return nil
}

func line(l wire.Log) string { return fmt.Sprintf("%s: %s (at %d ms)", l.Level, l.Message, l.TimeMs) }
