package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Bounds of `APP run` (CONTRACT section 7), in bytes.
const (
	maxLine = 64 << 10
	maxLogs = 256 << 10
)

var (
	executeID  = catalog.CodeID("koan", "execute")
	validateID = catalog.CodeID("koan", "validate")
)

// line is the one line that `APP run` prints (CONTRACT section 7).
type line struct {
	RunID         string     `json:"run_id"`
	TraceID       string     `json:"trace_id"`
	ToolName      string     `json:"tool_name"`
	ToolVersion   string     `json:"tool_version"`
	InputDigest   string     `json:"input_digest"`
	OutputDigest  string     `json:"output_digest"`
	SandboxImage  *string    `json:"sandbox_image"`
	DurationMs    int64      `json:"duration_ms"`
	ApprovalState string     `json:"approval_state"`
	PlanID        string     `json:"plan_id,omitempty"`
	Result        lineResult `json:"result"`
}

type lineResult struct {
	OK      bool            `json:"ok"`
	Data    json.RawMessage `json:"data,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Changes json.RawMessage `json:"changes,omitempty"`
	Calls   json.RawMessage `json:"calls,omitempty"`
	Error   *lineError      `json:"error,omitempty"`
	Metrics map[string]any  `json:"metrics"`
}

type lineError struct {
	Type      string `json:"type"` // the class of @codemode/errors
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	Code      string `json:"code"`
	Hint      string `json:"hint,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
}

// body is what koan.code.execute gives, as far as the line needs it.
type body struct {
	Answer  json.RawMessage `json:"answer"`
	Result  json.RawMessage `json:"result"`
	Changes json.RawMessage `json:"changes"`
	Calls   json.RawMessage `json:"calls"`
	Logs    []struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	} `json:"logs"`
}

type runFlags struct {
	set     string
	args    string
	dryRun  bool
	include []string
	key     string
	// approval is a stricter mode than the configuration's.
	approval string
}

func (c *command) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE|-",
		Short: "Run one script and print its result as one line of JSON",
		Long: "Runs one script as one run. Standard output gets exactly one line of JSON of at most 64 KiB;\n" +
			"what the script logs goes to standard error. The exit status is 0 when the script succeeded, else 1.",
		Example: "  " + c.app.Name + " run script.js --args '{\"photo\":\"haul.png\"}' --dry-run",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// What a shell has no value for is no wish for the default: of the set, or for no key.
			for _, name := range []string{"set", "args", "idempotency-key", "approval"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return usage(fmt.Errorf("--%s has an empty value; leave it out, or give it one", name))
				}
			}
			return c.runScript(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.set, "set", "", "default set of every call")
	cmd.Flags().StringVar(&f.args, "args", "", "JSON that the script sees as SDK.args")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "roll everything back and show what would change")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "run once: the same key and script again give the first result")
	cmd.Flags().StringVar(&f.approval, "approval", "", "of which effects somebody has to agree, where the configuration asks less: never, destructive, writes, always")
	cmd.Flags().StringSliceVar(&f.include, "include", nil, "of changes, calls")
	return cmd
}

func (c *command) runScript(ctx context.Context, file string, f runFlags) error {
	code, err := c.readScript(file)
	if err != nil {
		return err
	}
	input := map[string]any{"code": code}
	if f.set != "" {
		input["set"] = f.set
	}
	if f.dryRun {
		input["dryRun"] = true
	}
	if len(f.include) > 0 {
		input["include"] = f.include
	}
	if f.key != "" {
		input["idempotencyKey"] = f.key
	}
	if f.approval != "" {
		input["approval"] = f.approval
	}
	if f.args != "" {
		if !json.Valid([]byte(f.args)) {
			return usage(errors.New("--args is not JSON"))
		}
		input["args"] = json.RawMessage(f.args)
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return usage(err)
	}
	i, stop, err := c.once(ctx)
	if err != nil {
		return err
	}
	defer stop()
	start := time.Now()
	ctx = run.WithBeforeCommit(ctx, f.fits)
	out, outcome, err := i.Engine().Invoke(ctx, c.request(i, executeID, raw))
	if err == nil && outcome.Repeated && len(out)+overhead > maxLine {
		err = tooLong(len(out)) // the first time it went another way than this
	}
	out, _ = i.Engine().Redactor().JSON(out) // before its digest is made
	l, err := c.line(code, out, outcome, err, time.Since(start))
	if err != nil {
		return failed(err)
	}
	c.printLogs(out)
	text, err := json.Marshal(l)
	if err != nil {
		return failed(err)
	}
	if err := c.print(text); err != nil {
		return err
	}
	if !l.Result.OK {
		return failed(nil)
	}
	return nil
}

// request calls a code operation as the person at the machine, through the view
// of a client that understands code mode.
func (c *command) request(i Instance, id catalog.ID, input json.RawMessage) run.Request {
	p := auth.Local()
	op := i.Snapshot().Operation(id)
	own := op != nil && op.Reach&catalog.ReachApp != 0 // its face is listed nowhere
	return run.Request{View: i.View(p, exposure.Understands), Principal: p, ID: id, Input: input, Surface: "run", Listed: !own}
}

// overhead is room for everything in the line but data, answer, changes and
// calls.
const overhead = 1 << 10

// fits refuses, before the commit, what would not fit the line.
func (f runFlags) fits(ret run.Return, o *run.Outcome) error {
	size := len(ret.Result) + len(ret.Answer) + overhead
	for part, shown := range map[any]bool{
		&o.Changes: o.DryRun || slices.Contains(f.include, "changes"),
		&o.Calls:   slices.Contains(f.include, "calls"),
	} {
		if !shown {
			continue
		}
		raw, err := json.Marshal(part)
		if err != nil {
			return err
		}
		size += len(raw)
	}
	if size > maxLine {
		return tooLong(size)
	}
	return nil
}

func tooLong(size int) error {
	return fault.Newf(fault.ResultTooLarge, "the result takes %d bytes; one line of output holds %d", size, maxLine)
}

func (c *command) line(code string, out json.RawMessage, o *run.Outcome, callErr error, took time.Duration) (*line, error) {
	l := &line{
		ToolName: "koan.code.execute", ToolVersion: c.app.Version, InputDigest: run.Digest([]byte(code)),
		DurationMs: took.Milliseconds(), ApprovalState: notRequired,
	}
	l.Result.Metrics = map[string]any{"duration_ms": l.DurationMs}
	if o != nil {
		l.RunID, l.TraceID = o.Run, o.Trace
	}
	var b body
	if out != nil {
		if err := json.Unmarshal(out, &b); err != nil {
			return nil, err
		}
	}
	if callErr != nil {
		f := fault.From(callErr)
		entry, _ := fault.Lookup(f.Code)
		l.Result.Error = &lineError{
			Type: entry.Class, Message: clip(f.Message, 8<<10), Retryable: f.Retry == fault.Safe, Code: string(f.Code),
			Hint: f.Hint, Line: f.Line, Column: f.Column,
		}
		l.OutputDigest = run.Digest([]byte("null"))
		l.Result.Metrics = map[string]any{}
		l.ApprovalState, l.PlanID = approvalOf(f)
		return l, nil
	}
	l.Result.OK = true
	l.Result.Data, l.Result.Answer, l.Result.Changes, l.Result.Calls = b.Result, b.Answer, b.Changes, b.Calls
	if l.Result.Data == nil {
		l.Result.Data = json.RawMessage("null")
	}
	canonical, err := canonicalJSON(l.Result.Data)
	if err != nil {
		return nil, err
	}
	l.OutputDigest = run.Digest(canonical)
	return l, nil
}

// approvalOf is what a fault says of the run's approval, and the plan that it names.
func approvalOf(f *fault.Fault) (state, plan string) {
	var details struct {
		PlanID string `json:"planId"`
	}
	if raw, err := json.Marshal(f.Details); err == nil {
		_ = json.Unmarshal(raw, &details) // a list of details names no plan
	}
	switch f.Code {
	case fault.ApprovalRequired:
		return required, details.PlanID
	case fault.ApprovalDenied:
		return denied, details.PlanID
	}
	return notRequired, details.PlanID
}

func (c *command) printLogs(out json.RawMessage) {
	var b body
	if out == nil || json.Unmarshal(out, &b) != nil {
		return
	}
	size := 0
	for _, entry := range b.Logs {
		text := entry.Level + ": " + entry.Message + "\n"
		if size += len(text); size > maxLogs {
			fmt.Fprintf(c.app.Stderr, "warn: logs cut at %d bytes\n", maxLogs)
			return
		}
		fmt.Fprint(c.app.Stderr, text)
	}
}

// canonicalJSON gives JSON with sorted keys and no blanks, so that equal data
// has equal digests.
func canonicalJSON(raw json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
