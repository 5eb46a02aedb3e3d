package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// declarations are the documents that `APP sdk` prints, by the language of scripts.
var declarations = map[string]string{
	"javascript": "koan://sdk/koan.d.ts", "typescript": "koan://sdk/koan.d.ts", "node": "koan://sdk/koan.d.ts", "python": "koan://sdk/koan.pyi",
}

func (c *command) validate() *cobra.Command {
	var language string
	cmd := &cobra.Command{
		Use:   "validate FILE|-",
		Short: "Check a script without running it",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := c.readScript(args[0])
			if err != nil {
				return err
			}
			i, stop, err := c.startOnce(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			members := map[string]any{"code": code}
			if language != "" {
				members["language"] = language
			}
			nameLanguage(members, args[0])
			input, err := json.Marshal(members)
			if err != nil {
				return failed(err)
			}
			out, _, err := i.Engine().Invoke(cmd.Context(), c.request(i, validateID, input))
			if err != nil {
				return failed(explain(unexposed(i, err)))
			}
			if err := c.print(out); err != nil {
				return err
			}
			var verdict struct {
				Valid bool `json:"valid"`
			}
			if err := json.Unmarshal(out, &verdict); err != nil {
				return failed(err)
			}
			if !verdict.Valid {
				return failed(nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&language, "language", "", "javascript, typescript, python or node; by default that of the file's name, otherwise the first of codeMode.languages")
	return cmd
}

// unexposed says of a script's refusal that the exposure is its cause, if it is: the operator can set another one.
func unexposed(i Instance, err error) error {
	if i.Mode() != exposure.Tools || fault.CodeOf(err) != fault.ToolNotFound {
		return err
	}
	return fault.Newf(fault.ToolNotFound, "exposure is `%s`, so this app runs no scripts", i.Mode()).WithHint("%s", exposeScripts)
}

// exposeScripts is what the operator does where the exposure leaves scripts out.
const exposeScripts = "Set exposure to code, full or auto: --exposure full."

func (c *command) sdk() *cobra.Command {
	var file, language string
	cmd := &cobra.Command{
		Use:   "sdk",
		Short: "Print the TypeScript declarations of the SDK",
		Long: "Prints the TypeScript declarations of the SDK, or with --language python a stub file (.pyi) for the type checkers of\n" +
			"Python. With --out they go into a file, for an editor: it is written only where it has changed. For Python, --out\n" +
			"may also name a folder, such as typings. It gets stubs of koan, of the modules in servers, and of what scripts have\n" +
			"without an import.",
		Args: exactArgs(0),
		RunE: c.runOnce(func(cmd *cobra.Command, i Instance) error {
			docs := i.Snapshot().Documents()
			uri, ok := declarations[language]
			if !ok {
				return usage(fmt.Errorf("--language is one of %s, not %q", strings.Join(slices.Sorted(maps.Keys(declarations)), ", "), language))
			}
			at := slices.IndexFunc(docs, func(d *catalog.Document) bool { return d.URI == uri })
			view := i.View(auth.Local(), exposure.Understands)
			switch off := fault.New(fault.CodeModeDisabled, "this app offers no code mode, so it has no SDK"); {
			case exposure.CodeTools(view.Mode()) && (at >= 0 || language == "python"):
			case at >= 0 && i.Mode() == exposure.Tools:
				return failed(explain(off.WithHint("%s", exposeScripts)))
			default:
				return failed(explain(off))
			}
			if at < 0 {
				return failed(explain(fault.Newf(fault.CapabilityUnsupported, "this app runs no scripts in %s", language).
					WithHint("Add %s to codeMode.languages.", language)))
			}
			text, err := docs[at].Read(cmd.Context(), view, "")
			if err != nil {
				return failed(explain(err))
			}
			switch folder := docs[at].Folder; {
			case file != "" && folder != nil && filepath.Ext(file) != filepath.Ext(uri):
				return c.writeFolder(file, folder(view))
			case file != "":
				return writeChanged(file, text)
			}
			if _, err := c.app.Stdout.Write(text); err != nil {
				return failed(err)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&file, "out", "", "file to write instead of standard output; for Python, a folder that gets stubs of koan and servers")
	cmd.Flags().StringVar(&language, "language", "typescript", "language of the scripts: typescript (javascript and node too) or python")
	return cmd
}

// writeChanged writes a file whose text is another one.
func writeChanged(file string, text []byte) error {
	if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, text) {
		return nil
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return failed(err)
	}
	return nil
}

// writeFolder writes what has changed of some files below a folder, and removes those that it wrote once and that are
// there no more.
func (c *command) writeFolder(dir string, files map[string]string) error {
	mark := "# Written by `" + c.app.Name + " sdk`: changes are lost.\n"
	written := map[string]bool{}
	for path, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(path))
		written[file] = true
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return failed(err)
		}
		if err := writeChanged(file, []byte(mark+text)); err != nil {
			return err
		}
	}
	folders := map[string]bool{}
	for file := range written {
		folders[filepath.Dir(file)] = true
	}
	for folder := range folders {
		there, err := os.ReadDir(folder)
		if err != nil {
			return failed(err)
		}
		for _, entry := range there {
			file := filepath.Join(folder, entry.Name())
			if written[file] || filepath.Ext(file) != ".pyi" {
				continue
			}
			if text, err := os.ReadFile(file); err == nil && bytes.HasPrefix(text, []byte(mark)) {
				if err := os.Remove(file); err != nil {
					return failed(err)
				}
			}
		}
	}
	return nil
}

func (c *command) tools() *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Print what tools/list returns",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := exposure.Parse(mode)
			if err != nil {
				return usage(err)
			}
			i, stop, err := c.startOnce(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			view := i.View(auth.Local(), exposure.Unknown)
			if m != exposure.Auto {
				view = i.Snapshot().View(auth.Local(), m, i.Negotiated())
			}
			return c.print(toolset.JSON(view, toolset.Configured(i.Values())))
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "auto, code, tools or full (default: what an unknown client gets)")
	return cmd
}

func (c *command) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine: isolation, limits, database, plugins",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := c.app.Diagnose(cmd.Context(), c.source(warnings))
			if err != nil {
				return startFailure(err)
			}
			return c.printChecks(checks)
		},
	}
}

// printChecks prints the checks of `doctor`, and fails if one of them did.
func (c *command) printChecks(checks []catalog.Check) error {
	paint := painter(c.app.Stdout)
	w := tabwriter.NewWriter(c.app.Stdout, 2, 4, 2, ' ', 0)
	bad := 0
	for _, check := range checks {
		mark := paint(green, "ok  ")
		if !check.OK {
			bad++
			mark = paint(red, "FAIL")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, check.Name, check.Detail)
		if !check.OK && check.Hint != "" {
			fmt.Fprintf(w, "\t\t%s\n", check.Hint)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return failed(errors.New(catalog.Counted(bad, "check") + " failed"))
	}
	return nil
}

func (c *command) keys() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "List the configuration's keys with their defaults",
		Long:  "Key a.b can be set in the file (a: {b: ...}), as KOAN_A_B in the environment, or as --a.b on the\ncommand line; later sources override earlier ones.",
		Args:  exactArgs(0),
		RunE: func(_ *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.app.Stdout, 2, 4, 2, ' ', 0)
			for _, s := range c.app.Settings {
				def, help := defaultOf(s), s.Help
				if len(def) > maxDefault {
					def, help = "(below)", help+"\n\t\t\t  default: "+def
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Key, def, s.Unit, help)
			}
			return w.Flush()
		},
	}
}

// maxDefault bounds a default that stands beside its key, in bytes; a longer one has a line of its own.
const maxDefault = 24

// defaultOf returns a setting's default as the command line takes it.
func defaultOf(s catalog.Setting) string {
	if s.Open {
		return "(any keys below)"
	}
	switch v := s.Default.(type) {
	case []string:
		return strings.Join(v, ",")
	case []any, map[string]any:
		if raw, err := json.Marshal(v); err == nil {
			return string(raw)
		}
	}
	return fmt.Sprint(s.Default)
}

// print writes one line of JSON to standard output.
func (c *invocation) print(text []byte) error {
	if _, err := fmt.Fprintf(c.app.Stdout, "%s\n", text); err != nil {
		return failed(err)
	}
	return nil
}

// explain puts a fault's hint behind its message.
func explain(err error) error {
	f := fault.From(err)
	return errors.New(f.Error() + "\n  hint: " + f.Hint)
}

// withCauseAndHint appends the cause and hint of a fault in an error's chain. Callers
// never see causes, but the person who starts the app has to.
func withCauseAndHint(err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	more := ""
	if cause := f.Unwrap(); cause != nil && !endsWithCause(err.Error(), cause.Error()) {
		more += "\n  because: " + cause.Error()
	}
	if f.Hint != "" {
		more += "\n  hint: " + f.Hint
	}
	return fmt.Errorf("%w%s", err, more)
}

// endsWithCause reports whether a message already ends as its cause does, which then has
// only more context before it.
func endsWithCause(message, cause string) bool {
	cause = strings.TrimSpace(cause)
	last := strings.TrimSpace(cause[strings.LastIndexByte(cause, '\n')+1:])
	return strings.Contains(message, last)
}
