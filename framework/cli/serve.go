package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/mcpserver"
)

func (c *command) serve() *cobra.Command {
	var http string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over standard input and output",
		Long:  "Serves MCP over stdio. Standard output carries protocol only; the boot report and logs go to standard\nerror.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("http") {
				return usage(explain(fault.New(fault.CapabilityUnsupported, "--http: this build serves MCP over stdio only").
					WithHint("Leave --http out and start the server as your client's child process.")))
			}
			ctx := cmd.Context()
			// A client that goes away must end the runs and the plugins in order, not
			// the process at its next write. Taken, not ignored: children would inherit
			// that.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			// Nothing but protocol may reach standard output, whatever a library
			// prints: it writes to standard error from here on.
			out := c.app.Stdout
			if out == io.Writer(os.Stdout) {
				os.Stdout = os.Stderr
			}
			i, stop, err := c.boot(ctx, nil)
			if err != nil {
				return err
			}
			defer stop()
			server, err := mcpserver.New(c.mcp(i))
			if err != nil {
				return failed(err)
			}
			i.OnChange(server.CatalogChanged)
			for _, line := range i.Report() {
				fmt.Fprintln(c.app.Stderr, line)
			}
			if err := server.ServeStdio(ctx, c.app.Stdin, out); err != nil && ctx.Err() == nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&http, "http", "", "address to serve MCP over HTTP on (not in this build)")
	return cmd
}

func (c *command) mcp(i Instance) mcpserver.Options {
	v := i.Values()
	o := mcpserver.Options{
		Name: c.app.Name, Version: c.app.Version, Engine: i.Engine(), Catalog: i.Snapshot, Principal: auth.Local(),
		Exposure: i.Mode(), ExposureIsAuto: i.Negotiated(), Faces: faces(i.Snapshot()),
		QueueMax: v.Int("server.queueMax"), ToolTimeout: v.Duration("server.toolTimeoutMs"), MaxBufferBytes: v.Int("server.maxBufferBytes"),
		ToolNames: mcpserver.ToolNames(v.String("server.toolNames")), Log: i.Log(),
	}
	o.Instructions = c.app.Description
	if len(o.Faces) > 0 {
		o.Runtime = v.String("codeMode.runtime")
		o.CodeInstructions = "Do a job of several steps with one koan.code.execute script instead of one tool call per step: it runs as one transaction, and `dryRun: true` shows what it would change. The SDK's types stand in that tool's description and in the resource " + declarations + "."
	}
	return o
}

// faces are the code faces that the catalog offers as tools.
func faces(s *catalog.Snapshot) []string {
	var out []string
	for _, op := range s.Operations() {
		if op.ID.Kind == catalog.KindCode && op.Reach&catalog.ReachTools != 0 && !slices.Contains(out, op.ID.Owner) {
			out = append(out, op.ID.Owner)
		}
	}
	return out
}
