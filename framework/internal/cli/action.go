package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/schema"
)

func (c *actionCommands) action() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "action [NAME] [--ARGUMENT VALUE ...]",
		Short: "Carry out an action, or list the actions",
		Long: "Carries out an action and prints its output as one line of JSON. Each member of its input is a flag in kebab-case:\n" +
			"orderId is --order-id. --input takes the whole input as JSON, @FILE or @- for standard input; --set is the default\n" +
			"set, and --dry-run shows what would change and keeps nothing. `action NAME --help` lists the flags of one action.\n" +
			"A member called like one of these flags (" + strings.Join(ownFlags, ", ") + ") is set in --input.\n" +
			"Without a name it lists the actions.",
		Example: "  " + c.app.Command + " action cancel-order --order-id 1 --reason mistake",
		// The flags are known when the action is.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			args, err := c.takeGlobal(args)
			if err != nil {
				return usage(err)
			}
			i, stop, err := c.startOnce(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			if len(args) == 0 {
				return c.listActions(i)
			}
			return c.runAction(cmd.Context(), i, args[0], args[1:])
		},
	}
	cmd.AddCommand(c.addAction())
	return cmd
}

// takeGlobal takes the flags of all commands out of those of an action.
func (c *actionCommands) takeGlobal(args []string) (rest []string, err error) {
	for len(args) > 0 {
		name, value, given := strings.Cut(args[0], "=")
		if name != "--config" && name != "--dir" {
			rest, args = append(rest, args[0]), args[1:]
			continue
		}
		if args = args[1:]; !given {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s has no value", name)
			}
			value, args = args[0], args[1:]
		}
		if name == "--config" {
			c.config = value
		} else if err := os.Chdir(value); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// actionsOf returns the actions of the app.
func actionsOf(i Instance) (out []*catalog.Operation) {
	for _, op := range i.Snapshot().Operations() {
		if op.ID.Kind == catalog.KindAction {
			out = append(out, op)
		}
	}
	return out
}

func (c *actionCommands) listActions(i Instance) error {
	rows := [][]catalog.Cell{}
	for _, op := range actionsOf(i) {
		summary, _, _ := strings.Cut(op.Summary, "\n")
		rows = append(rows, []catalog.Cell{{Text: op.ID.Op}, {Text: summary, Mood: catalog.Faint}})
	}
	if len(rows) == 0 {
		fmt.Fprintln(c.app.Stderr, "There are no actions. Put NAME.ts or NAME.js into the folder that actions.dir names.")
		return nil
	}
	c.printer().Table(rows)
	return nil
}

func (c *actionCommands) runAction(ctx context.Context, i Instance, name string, args []string) error {
	op := i.Snapshot().Operation(catalog.ActionID(name))
	if op == nil {
		var names []string
		for _, known := range actionsOf(i) {
			names = append(names, known.ID.Op)
		}
		return usage(fmt.Errorf("there is no action %q%s", name, fault.DidYouMean(name, names)))
	}
	f := actionFlags{op: op, stdin: c.app.Stdin}
	if err := f.read(args); err != nil {
		return usage(err)
	}
	if f.help {
		return c.print([]byte(f.usage(c.app.Command)))
	}
	input, err := json.Marshal(f.input)
	if err != nil {
		return usage(err)
	}
	if err := schema.Check(op.Input, input); err != nil {
		return usage(f.explain(err))
	}
	req := run.Request{
		View: i.View(auth.Local(), exposure.Understands), Principal: auth.Local(), ID: op.ID, Input: input, Surface: "run", Set: f.set,
		Reports: run.Reports{Notify: func(l slog.Level, message string) {
			fmt.Fprintf(c.app.Stderr, "%s: %s\n", strings.ToLower(l.String()), message)
		}},
	}
	if f.dryRun {
		script := map[string]any{"code": "SDK." + strings.Join(catalog.SDKPath(op.ID), ".") + "(SDK.args)", "args": f.input, "dryRun": true}
		if f.set != "" {
			script["set"] = f.set
		}
		if req.Input, err = json.Marshal(script); err != nil {
			return usage(err)
		}
		req.ID = executeID
	}
	out, _, err := i.Engine().Invoke(ctx, req)
	if err != nil {
		return failed(explain(err))
	}
	return c.print(out)
}

// actionFlags are the flags of one action.
type actionFlags struct {
	op     *catalog.Operation
	stdin  io.Reader
	input  map[string]any
	set    string
	dryRun bool
	help   bool
}

// property is a member of an action's input, as far as flags need to know it.
type property struct {
	Type        any             `json:"type"`
	Enum        []any           `json:"enum"`
	Description string          `json:"description"`
	Items       json.RawMessage `json:"items"`
}

func (f *actionFlags) properties() (all map[string]property, required []string) {
	var s struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	_ = json.Unmarshal(f.op.Input, &s) // other schemas have no flags but --input
	return s.Properties, s.Required
}

// ownFlags are the flags that each action has, or that the app takes before: they mean the same at
// every action. A member of an input that is called like one of them is in --input alone.
var ownFlags = []string{"input", "set", "dry-run", "help", "config", "dir"}

// flagOf returns the flag, without its dashes, that sets a member of the input; ok is false if the
// member is in --input alone.
func flagOf(member string) (flag string, ok bool) {
	flag = catalog.Kebab(member)
	return flag, flag != "" && !strings.Contains(flag, "=") && !slices.Contains(ownFlags, flag)
}

// member returns the member of the input that a flag sets.
func (f *actionFlags) member(flag string) (name string, p property, ok bool) {
	if slices.Contains(ownFlags, flag) {
		return "", property{}, false
	}
	all, _ := f.properties()
	if p, ok = all[flag]; ok {
		return flag, p, true
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if as, ok := flagOf(name); ok && as == flag {
			return name, all[name], true
		}
	}
	return "", property{}, false
}

// read reads the flags of a command line.
func (f *actionFlags) read(args []string) error {
	f.input = map[string]any{}
	for len(args) > 0 {
		name, value, given := strings.Cut(args[0], "=")
		flag, ok := strings.CutPrefix(name, "--")
		if args = args[1:]; name == "-h" || flag == "help" {
			f.help = true
			return nil
		}
		if !ok || flag == "" {
			return fmt.Errorf("%q is not a flag: write --NAME VALUE", name)
		}
		if flag == "dry-run" {
			if given && value != "true" && value != "false" {
				return fmt.Errorf("--dry-run takes true or false, not %q", fault.Clip(value, 64))
			}
			f.dryRun = value != "false"
			continue
		}
		member, p, known := f.member(flag)
		if !known && flag != "input" && flag != "set" {
			return fmt.Errorf("the action %s has no flag --%s%s", f.op.ID.Op, flag, fault.DidYouMean(flag, f.names()))
		}
		if !given {
			switch {
			case known && p.Type == "boolean" && (len(args) == 0 || args[0] != "true" && args[0] != "false"):
				value = "true"
			case len(args) == 0:
				return fmt.Errorf("--%s has no value", flag)
			default:
				value, args = args[0], args[1:]
			}
		}
		if err := f.take(flag, member, p, value); err != nil {
			return err
		}
	}
	return nil
}

func (f *actionFlags) take(flag, member string, p property, value string) error {
	switch {
	case member != "":
		v, err := p.value(value)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if more, list := f.input[member].([]any); list && p.Type == "array" {
			if one, ok := v.([]any); ok {
				v = append(more, one...)
			}
		}
		f.input[member] = v
		return nil
	case flag == "set":
		f.set = value
		return nil
	}
	raw := []byte(value)
	if file, ok := strings.CutPrefix(value, "@"); ok {
		var err error
		if file == "-" {
			raw, err = io.ReadAll(io.LimitReader(f.stdin, maxScript))
		} else {
			raw, err = readGiven(file)
		}
		if err != nil {
			return err
		}
	}
	var whole map[string]any
	if err := json.Unmarshal(raw, &whole); err != nil || whole == nil {
		return errors.New("--input is not a JSON object")
	}
	for name, v := range whole {
		if _, twice := f.input[name]; !twice { // a flag of its own counts
			f.input[name] = v
		}
	}
	return nil
}

// value reads the text of a flag by the schema of its member.
func (p property) value(text string) (any, error) {
	decoded := func() (any, error) {
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil || d.More() {
			return nil, fmt.Errorf("%q is not JSON", fault.Clip(text, 64))
		}
		return v, nil
	}
	switch p.Type {
	case "string":
		return text, nil
	case "integer", "number", "boolean", "object":
		return decoded()
	case "array":
		if strings.HasPrefix(text, "[") {
			return decoded()
		}
		var items property
		_ = json.Unmarshal(p.Items, &items) // any item then
		v, err := items.value(text)
		return []any{v}, err
	}
	if slices.Contains(p.Enum, any(text)) {
		return text, nil
	}
	if v, err := decoded(); err == nil {
		return v, nil
	}
	return text, nil
}

func (f *actionFlags) names() []string {
	all, _ := f.properties()
	names := slices.Clone(ownFlags)
	for name := range all {
		if flag, ok := flagOf(name); ok {
			names = append(names, flag)
		}
	}
	slices.Sort(names)
	return names
}

// explain names the flags of what is wrong with an input.
func (f *actionFlags) explain(err error) error {
	bad := fault.From(err)
	details, ok := bad.Details.([]fault.Detail)
	if !ok || len(details) == 0 {
		details = []fault.Detail{{Path: bad.Path, Message: bad.Message}}
	}
	lines := []string{"the input of " + f.op.ID.Op + " is not valid:"}
	for _, d := range details {
		at := d.Path
		if steps := fault.Steps(d.Path); len(steps) == 1 {
			at = memberAt(steps[0])
		}
		lines = append(lines, "  "+strings.TrimPrefix(at+": ", ": ")+d.Message)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// memberAt says where on the command line a member of the input is.
func memberAt(name string) string {
	if flag, ok := flagOf(name); ok {
		return "--" + flag
	}
	return catalog.Quote(name) + " in --input"
}

func (f *actionFlags) usage(app string) string {
	all, required := f.properties()
	var b strings.Builder
	b.WriteString(f.op.Summary + "\n\nUsage:\n  " + app + " action " + f.op.ID.Op + " [flags]\n\nFlags:\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		line := "  " + memberAt(name)
		if kind, ok := p.Type.(string); ok {
			line += " " + kind
		}
		var choices []string
		for _, v := range p.Enum {
			choice := fmt.Sprint(v)
			if v == nil {
				choice = "null"
			}
			choices = append(choices, choice)
		}
		if len(choices) > 0 {
			line += " (" + strings.Join(choices, " | ") + ")"
		}
		if p.Description != "" {
			line += "   " + p.Description
		}
		if slices.Contains(required, name) {
			line += "   required"
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("  --input JSON   the whole input; @FILE reads a file, @- standard input\n  --set string   default set of its calls\n  --dry-run   show what would change, and keep nothing")
	return b.String()
}

// ActionWriter is a provider that makes the file of an action out of a script.
type ActionWriter interface {
	// ActionFile returns the file's name and text, for a script that ran with these
	// arguments.
	ActionFile(ctx context.Context, name, code, language string, args json.RawMessage) (file string, text []byte, err error)
}

func (c *actionCommands) addAction() *cobra.Command {
	var from, dir string
	cmd := &cobra.Command{
		Use:   "add NAME --run RUN",
		Short: "Make an action of a script that ran",
		Long: "Writes the file of an action with the script of a run that is kept for a replay (see the keys replay.*), and an\n" +
			"input as its arguments were. Its example has placeholders, not the values of those arguments. The action has its\n" +
			"caller's rights. Look at the file before you offer it: every client reads its description and its examples. No\n" +
			"file is overwritten.",
		Example: "  " + c.app.Command + " action add cancel-order --run 01a1f9af-86a5-7c6b-96f4-1eb5600f6428",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return usage(errors.New("--run is missing: it names the run whose script becomes the action"))
			}
			i, stop, err := c.startOnce(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			if dir == "" {
				dir = i.Values().String("actions.dir")
			}
			if dir == "" {
				dir = "actions"
			}
			file, text, err := i.ActionOf(cmd.Context(), args[0], from)
			switch code := fault.CodeOf(err); {
			case code == fault.NotFound, code == fault.InvalidPayload, code == fault.CapabilityUnsupported:
				return usage(withCauseAndHint(err))
			case err != nil:
				return failed(withCauseAndHint(err))
			}
			return c.writeAction(filepath.Join(dir, file), text)
		},
	}
	cmd.Flags().StringVar(&from, "run", "", "id of the run")
	cmd.Flags().StringVar(&dir, "folder", "", "folder of the file (default: actions.dir, otherwise actions)")
	return cmd
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writeAction writes the file of an action that is not there yet, in no language.
func (c *actionCommands) writeAction(path string, text []byte) error {
	name := strings.TrimSuffix(path, filepath.Ext(path))
	for _, extension := range []string{".js", ".ts", ".py"} {
		if other := name + extension; other != path && exists(other) {
			return usage(fmt.Errorf("%s is that action already; rename or remove it first", other))
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return failed(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usage(fmt.Errorf("%s exists already; no file is overwritten", path))
	}
	if err != nil {
		return failed(err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // not half a file
		return failed(err)
	}
	fmt.Fprintf(c.app.Stderr, "%s was written. Its example has placeholders in place of the run's arguments; every client reads it, as it does the description. Read the file before you offer it.\n", path)
	return nil
}
