package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
)

// maxLogs bounds what `APP run` prints of a script's logs (CONTRACT section 7), in
// bytes.
const maxLogs = 256 << 10

var (
	executeID  = catalog.CodeID("koan", "execute")
	validateID = catalog.CodeID("koan", "validate")
)

// runFlags are the inputs of koan.code.execute beside the code.
type runFlags struct {
	texts   map[string]*string // by the input's name
	raw     map[string]*string // those that are JSON
	only    []string
	include []string
	dryRun  bool
	atomic  bool
}

// runTexts are the flags that are texts, by the name of their input.
var runTexts = []struct{ input, flag, help string }{
	{"set", "set", "default set of every call"},
	{"language", "language", "javascript, typescript, python or node; by default that of the file's name, otherwise the first of codeMode.languages"},
	{"entryFunction", "entry-function", "function to call after the script"},
	{"idempotencyKey", "idempotency-key", "run at most once: the same key and script return the first result again"},
	{"correlationId", "correlation-id", "your own id of what the run belongs to, for the journal"},
	{"approval", "approval", "which effects need approval, where the configuration asks for less: never, destructive, writes, always"},
	{"onLarge", "on-large", "file: a result or an answer that is too large for the line becomes a file"},
	{"planId", "plan-id", "apply this plan, or show it with --dry-run, instead of a FILE"},
}

// runRaw are the flags that are JSON.
var runRaw = []struct{ input, flag, help string }{
	{"args", "args", "JSON that the script sees as SDK.args"},
	{"limits", "limits", "JSON with the run's own limits: timeoutMs, maxMemoryBytes, maxLogBytes, maxToolCalls"},
}

func (c *scripts) run() *cobra.Command {
	f := runFlags{texts: map[string]*string{}, raw: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "run FILE|-",
		Short: "Run one script and print its result as one line of JSON",
		Long: "Runs one script as one run. Standard output gets exactly one line of JSON of at most 64 KiB;\n" +
			"logs of the script go to standard error. The exit status is 0 when the script succeeded, otherwise 1.\n\n" +
			"The journal keeps the run, as it keeps those of a server: `" + c.app.Command + " runs` lists it, and `" + c.app.Command + " doctor` says where the journal is.",
		Example: "  " + c.app.Command + " run script.js --args '{\"photo\":\"haul.png\"}' --dry-run",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("plan-id") && len(args) == 0 {
				return nil
			}
			return exactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := f.input(cmd)
			if err != nil {
				return usage(err)
			}
			return c.runScript(cmd.Context(), args, input, f)
		},
	}
	flags := cmd.Flags()
	for _, t := range runTexts {
		f.texts[t.input] = flags.String(t.flag, "", t.help)
	}
	for _, t := range runRaw {
		f.raw[t.input] = flags.String(t.flag, "", t.help)
	}
	flags.BoolVar(&f.dryRun, "dry-run", false, "roll everything back and show what would change")
	flags.BoolVar(&f.atomic, "atomic", true, "one transaction for all; false commits call by call")
	flags.StringSliceVar(&f.include, "include", nil, "of changes, calls")
	flags.StringSliceVar(&f.only, "only", nil, "restrict what the script may call: entities, plugin:DOMAIN, server:ID")
	return cmd
}

// input returns the members of the input that the flags set.
func (f runFlags) input(cmd *cobra.Command) (map[string]any, error) {
	input := map[string]any{}
	for _, t := range runTexts {
		if err := rejectEmpty(cmd, t.flag); err != nil {
			return nil, err
		}
		if v := *f.texts[t.input]; v != "" {
			input[t.input] = v
		}
	}
	for _, t := range runRaw {
		if err := rejectEmpty(cmd, t.flag); err != nil {
			return nil, err
		}
		v := *f.raw[t.input]
		if v == "" {
			continue
		}
		if !json.Valid([]byte(v)) {
			return nil, fmt.Errorf("--%s is not JSON, in which names and strings have double quotes", t.flag)
		}
		input[t.input] = json.RawMessage(v)
	}
	if f.dryRun {
		input["dryRun"] = true
	}
	if !f.atomic {
		input["atomic"] = false
	}
	if f.include != nil {
		input["include"] = f.include
	}
	if f.only != nil {
		input["only"] = f.only
	}
	return input, nil
}

// rejectEmpty rejects a flag with an empty value: an unset variable of a shell does not
// mean the default.
func rejectEmpty(cmd *cobra.Command, name string) error {
	if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
		return fmt.Errorf("--%s has an empty value; leave it out, or give it one", name)
	}
	return nil
}

// withQuestions has the person at the terminal answer the questions of a run.
func (c *scripts) withQuestions(ctx context.Context, i Instance) context.Context {
	return ask.With(ctx, newFormTerminal(c.app.Stdin, c.app.Stderr, i.Values().Duration("server.askTimeoutMs")))
}

// nameLanguage sets the language of a script in a file whose name says it, unless it is set.
func nameLanguage(input map[string]any, file string) {
	if input["language"] == nil && filepath.Ext(file) == ".py" {
		input["language"] = "python"
	}
}

func (c *scripts) runScript(ctx context.Context, files []string, input map[string]any, f runFlags) error {
	code := ""
	if len(files) > 0 {
		var err error
		if code, err = c.readScript(files[0]); err != nil {
			return err
		}
		input["code"] = code
		nameLanguage(input, files[0])
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return usage(err)
	}
	start := time.Now()
	i, stop, err := c.startOnce(ctx)
	if err != nil {
		return c.notStarted(executeTool, code, err, time.Since(start))
	}
	defer stop()
	plan := planByID(ctx, i, *f.texts["planId"])
	if plan != nil && len(files) == 0 {
		code = codeOf(plan)
	}
	if c.canAsk() && (len(files) == 0 || files[0] != "-") {
		ctx = c.withQuestions(ctx, i)
	}
	start = time.Now()
	redactor := i.Engine().Redactor()
	req := c.request(i, executeID, raw)
	emitted := &emittedLines{to: c.app.Stderr, redactor: redactor}
	req.Emit = emitted.print
	ctx = run.WithResultRoom(ctx, maxLine-lineFrame)
	out, outcome, err := i.Engine().Invoke(run.WithBeforeCommit(ctx, c.fitsLine(f.included(plan), plan, redactor)), req)
	took := time.Since(start)
	if err != nil {
		err = unexposed(i, err)
	}
	out, _ = redactor.JSON(out) // before its digest is made
	l, lerr := c.line(code, out, outcome, err, took)
	if lerr != nil {
		return failed(lerr)
	}
	l.omit(f.included(plan))
	if plan != nil {
		l.setPlan(plan, f.dryRun)
	}
	if err := l.shorten(); err != nil {
		return failed(err)
	}
	c.printLogs(out, maxLogs-emitted.bytes)
	if err := c.printLine(l); err != nil {
		return err
	}
	if !l.Result.OK {
		return failed(nil)
	}
	return nil
}

// emittedLines prints what a script emits, as it comes: at most maxEmitted bytes of it, so that there
// is room for logs.
type emittedLines struct {
	to       io.Writer
	redactor *journal.Redactor
	bytes    int // printed so far
	full     bool
}

const maxEmitted = maxLogs / 2

func (e *emittedLines) print(_ int, value json.RawMessage) {
	if e.full {
		return
	}
	value, _ = e.redactor.JSON(value)
	line := fmt.Sprintf("emitted: %s\n", value)
	const room = 100 // for the note
	if e.full = e.bytes+len(line) > maxEmitted-room; e.full {
		line = fmt.Sprintf("warn: at most %d bytes of emitted values are printed; the result has the others\n", maxEmitted)
	}
	n, _ := io.WriteString(e.to, line)
	e.bytes += n
}

// planByID returns the plan that is named instead of a script, nil if there is none.
func planByID(ctx context.Context, i Instance, id string) *approve.Plan {
	if id == "" {
		return nil
	}
	p, err := i.Plans().FindPlan(ctx, id, auth.Local())
	if err != nil {
		return nil // the call itself will say so
	}
	return p
}

// included is what the result includes: a plan has it in its own request.
func (f runFlags) included(plan *approve.Plan) []string {
	if plan == nil {
		return f.include
	}
	var in struct{ Include []string }
	_ = json.Unmarshal(plan.Request.Input, &in) // the input of a tool includes nothing
	return in.Include
}

// notStarted prints the line of a run that could not be opened because the app did not
// start, in addition to the error on standard error. Wrong use has no line.
func (c *invocation) notStarted(tool, code string, err error, took time.Duration) error {
	var status *exit
	var f *fault.Fault
	if !errors.As(err, &status) || status.status != exitFail {
		return err
	}
	if !errors.As(err, &f) {
		f = fault.New(fault.ServiceUnavailable, "the app did not start").WithHint("Standard error says why.").Because(err)
	}
	l, lerr := c.line(code, nil, run.NoRun(), f, took)
	if lerr != nil {
		return failed(lerr)
	}
	l.ToolName = tool
	if perr := c.printLine(l); perr != nil {
		return perr
	}
	return err
}

// request calls a code operation as the local operator, through the view
// of a client that understands code mode.
func (c *invocation) request(i Instance, id catalog.ID, input json.RawMessage) run.Request {
	p := auth.Local()
	op := i.Snapshot().Operation(id)
	via := catalog.SurfaceTools
	if op != nil && op.Reach&catalog.ReachApp != 0 { // its face is listed nowhere
		via = catalog.SurfaceApp
	}
	return run.Request{View: i.View(p, exposure.Understands), Principal: p, ID: id, Input: input, Surface: "run", Via: via}
}

// printLogs prints what the script logged, at most so many bytes of it.
func (c *invocation) printLogs(out json.RawMessage, most int) {
	var b body
	if out == nil || json.Unmarshal(out, &b) != nil {
		return
	}
	var text strings.Builder
	for _, entry := range b.Logs {
		text.WriteString(entry.Level + ": " + entry.Message + "\n")
	}
	logs := text.String()
	if len(logs) > most {
		note := fmt.Sprintf("\nwarn: the logs take %d bytes, at most %d are printed\n", len(logs), most)
		logs = strings.ToValidUTF8(logs[:most-len(note)], "") + note
	}
	fmt.Fprint(c.app.Stderr, logs)
}
