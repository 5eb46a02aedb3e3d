package recording

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
		out.Difference = diffStreams(then.Emitted, res.Emitted, then.Logs, res.Logs, true)
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
		out.Notes = append(out.Notes, "limits of time and memory depend on the machine and its load")
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
	return diffStreams(then.Emitted, res.Emitted, then.Logs, res.Logs, interrupted)
}

// diffStreams returns the first emitted value that differs, or else the first log entry.
func diffStreams(emittedThen, emittedNow []json.RawMessage, logsThen, logsNow []wire.Log, interrupted bool) *replay.Difference {
	text := func(v json.RawMessage) string { return string(v) }
	if d := diffTexts(replay.InEmitted, "no more values", texts(emittedThen, text), texts(emittedNow, text), interrupted); d != nil {
		return d
	}
	return diffTexts(replay.InLogs, "no more entries", texts(logsThen, line), texts(logsNow, line), interrupted)
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

// diffTexts returns the first line that differs. Of an interrupted run one of the two lists
// may end sooner; end stands for what an ended one has next.
func diffTexts(in, end string, then, now []string, interrupted bool) *replay.Difference {
	for i := range max(len(then), len(now)) {
		a, b := end, end
		if i < len(then) {
			a = then[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if a == b {
			continue
		}
		if interrupted && i >= min(len(then), len(now)) {
			return nil
		}
		d := &replay.Difference{In: in}
		d.Recorded, d.Now = replay.Excerpts(a, b)
		return d
	}
	return nil
}

// texts returns each value as text.
func texts[T any](values []T, text func(T) string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = text(v)
	}
	return out
}

func line(l wire.Log) string { return fmt.Sprintf("%s: %s (at %d ms)", l.Level, l.Message, l.TimeMs) }
