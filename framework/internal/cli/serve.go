package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func (c *server) serve() *cobra.Command {
	var address string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over standard input and output, or over HTTP",
		Long: "Serves MCP over stdio: standard output carries protocol only; the boot report and logs go to standard\n" +
			"error. With --http it serves Streamable HTTP at /mcp instead, and /healthz, /readyz and /metrics beside it.",
		Example: "  " + c.app.Command + " serve\n  " + c.app.Command + " serve --http 127.0.0.1:8080\n" +
			"  " + c.app.Command + " serve --http :8443 --server.tokensFile tokens.yaml --server.tlsCert cert.pem --server.tlsKey key.pem",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			over, habits := c.serveStdio, map[string]string(nil)
			if cmd.Flags().Changed("http") {
				listen, err := c.listen(address, insecure)
				if err != nil {
					return err
				}
				over, habits = listen, map[string]string{"telemetry.metrics": "true"}
			}
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
			i, stop, err := c.boot(ctx, habits, false)
			if err != nil {
				return err
			}
			defer stop()
			return over(ctx, i, out)
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve over HTTP on this address, such as 127.0.0.1:8080")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "serve other machines without authentication")
	return cmd
}

// report prints the boot report.
func (c *server) report(i Instance) {
	for _, line := range i.Report() {
		fmt.Fprintln(c.app.Stderr, line)
	}
}

func (c *server) serveStdio(ctx context.Context, i Instance, out io.Writer) error {
	server, err := i.MCP()
	if err != nil {
		return failed(err)
	}
	defer c.watchConfig(ctx, i)()
	c.report(i)
	if onTerminal(c.app.Stdin) {
		fmt.Fprintf(c.app.Stderr, "%s waits for an MCP client on standard input, where a terminal is. Clients start it by themselves: see `%s install --help`.\n"+
			"Serve over HTTP with --http 127.0.0.1:8080. Ctrl-C ends it.\n", c.app.Command, c.app.Command)
	}
	if err := server.ServeStdio(ctx, c.app.Stdin, out); err != nil && ctx.Err() == nil {
		return failed(err)
	}
	return nil
}
