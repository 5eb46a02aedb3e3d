package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/regular"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins"
	"github.com/koan-go/koan/plugins/conformance"
	"github.com/koan-go/koan/plugins/internal/plain"
)

// maxInput bounds an input that is read from a file, in bytes.
const maxInput = 64 << 20

// check is `plugin check`.
func check(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	set, err := keys(in)
	if err != nil {
		return err
	}
	findings := conformance.Check(ctx, in.Args[0], conformance.Options{Keys: set, Log: host.Log().Handler()})
	if in.Bools["json"] {
		if err := in.Out.JSON(findings); err != nil {
			return err
		}
	} else {
		printFindings(in.Out, findings)
	}
	if !conformance.Passed(findings) {
		return catalog.ErrNotice
	}
	return nil
}

func printFindings(to catalog.Printer, findings []conformance.Finding) {
	var rows [][]catalog.Cell
	failed := 0
	for _, f := range findings {
		mark, mood := "ok", catalog.Good
		if !f.OK {
			mark, mood, failed = "FAIL", catalog.Bad, failed+1
		}
		rows = append(rows, []catalog.Cell{{Text: mark, Mood: mood}, {Text: f.Name}, {Text: plain.Line(f.Detail)}})
		if f.Hint != "" {
			rows = append(rows, []catalog.Cell{{}, {}, {Text: plain.Line(f.Hint), Mood: catalog.Faint}})
		}
	}
	to.Table(rows)
	if failed > 0 {
		to.Printf("\n%s failed.\n", catalog.Counted(failed, "check"))
		return
	}
	to.Printf("\nAll %d checks passed.\n", len(findings))
}

// call is `plugin run`.
func call(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	set, err := keys(in)
	if err != nil {
		return err
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	single, err := plugins.StartSingle(ctx, in.Args[0], plugins.SingleOptions{Keys: set, Log: host.Log(), App: "koan plugin", Version: host.Version()})
	if err != nil {
		return notStarted(filepath.Base(in.Args[0]), in.Args[0], err)
	}
	defer single.Stop()
	if err := single.Admit(ctx); err != nil {
		return notStarted(filepath.Base(in.Args[0]), in.Args[0], err)
	}
	snapshot, err := catalog.NewSnapshot(single.Offer())
	if err != nil {
		return err
	}
	id := catalog.PluginID(single.Name(), in.Args[1])
	if snapshot.Operation(id) == nil {
		return fault.Newf(fault.ToolNotFound, "%s has no function %q%s", single.Name(), in.Args[1], fault.DidYouMean(in.Args[1], functions(single))).
			WithHint("Its functions: %s.", strings.Join(functions(single), ", "))
	}
	engine := run.NewEngine(run.Options{Log: slog.New(slog.DiscardHandler)})
	output, _, err := engine.Invoke(ctx, run.Request{
		View: snapshot.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: id, Input: input, Surface: "run",
		Reports: run.Reports{Progress: func(done, total float64, message string) { in.Err.Printf("%s\n", progress(done, total, message)) }},
	})
	if err != nil {
		said := *fault.From(err)
		said.Message, said.Hint = plain.Line(said.Message), plain.Line(said.Hint)
		return &said
	}
	return in.Out.JSON(output)
}

func functions(s *plugins.Single) (out []string) {
	for _, op := range s.Offer().Operations {
		out = append(out, op.ID.Op)
	}
	return out
}

// progress is a line about how far a call is.
func progress(done, total float64, message string) string {
	if total > 0 {
		return plain.Line(fmt.Sprintf("%v of %v %s", done, total, message))
	}
	return plain.Line(fmt.Sprintf("%v %s", done, message))
}

// inputOf returns the input of --input.
func inputOf(in *catalog.Invocation) (json.RawMessage, error) {
	text := in.Strings["input"]
	raw, err := []byte(text), error(nil)
	switch name, file := strings.CutPrefix(text, "@"); {
	case file:
		raw, err = regular.ReadFile(name, maxInput)
	case text == "-":
		raw, err = io.ReadAll(io.LimitReader(in.In, maxInput))
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.InvalidPayload, "--input is not JSON").WithHint("Quote it for the shell: --input '{\"sides\": 6}', or read it from a file: --input @input.json.")
	}
	return raw, nil
}

// notStarted is why a plugin at a path does not start.
func notStarted(name, path string, err error) error {
	return fault.Newf(fault.PluginUnavailable, "%s does not start: %s", name, oneLine(err)).WithHint("`koan plugin check %s` says more.", path)
}
