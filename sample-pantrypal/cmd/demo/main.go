// Command demo shows PantryPal's main job on real input: it starts the server on
// a fresh data folder, speaks MCP to it as any client would, sends one script
// with one photo, prints what came of it, and undoes it.
//
// What belongs here: starting, asking, printing. Not here: anything of the
// job itself, which is the script's, or a short cut around the protocol.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// timeout bounds the whole demo.
const timeout = 2 * time.Minute

// options are what the command line says.
type options struct {
	photo  string // JPEG, PNG or WebP file
	app    string // the pantrypal executable; its plugins lie in plugins/ beside it
	script string
	keep   bool // leave the data folder where it is
}

func main() {
	o := options{}
	flag.StringVar(&o.photo, "photo", "sample-pantrypal/testdata/haul.png", "the `file` to read: JPEG, PNG or WebP, with barcodes")
	flag.StringVar(&o.app, "app", "bin/pantrypal", "the pantrypal `executable`")
	flag.StringVar(&o.script, "script", "sample-pantrypal/cmd/demo/evening.js", "the script `file` to send")
	flag.BoolVar(&o.keep, "keep", false, "keep the data folder, and say where it is")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q; see -help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	err := demo(ctx, o, os.Stdout, os.Stderr)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, describe(err, paint(os.Stderr)))
		os.Exit(1)
	}
}

// demo runs the whole thing. Progress goes to steps, the show to out.
func demo(ctx context.Context, o options, out, steps io.Writer) (err error) {
	photo, err := findPhoto(o.photo)
	if err != nil {
		return err
	}
	script, err := os.ReadFile(o.script)
	if err != nil {
		return fmt.Errorf("the script cannot be read: %w", err)
	}
	app, err := filepath.Abs(o.app)
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "pantrypal-demo-")
	if err != nil {
		return fmt.Errorf("the data folder cannot be created: %w", err)
	}
	if o.keep {
		defer fmt.Fprintln(steps, "the data is kept in", data)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	}

	fmt.Fprintf(steps, "starting %s on an empty data folder ...\n", filepath.Base(app))
	s, err := connect(ctx, app, data, filepath.Dir(photo))
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintf(steps, "sending %s with %s ...\n", filepath.Base(o.script), filepath.Base(photo))
	r, err := s.execute(ctx, string(script), map[string]any{"photo": filepath.Base(photo)})
	if err != nil {
		return err
	}
	show(out, r, paint(out))
	if len(r.Changes) == 0 {
		return nil
	}
	fmt.Fprintln(steps, "undoing it ...")
	undone, err := s.undo(ctx, r.RunID)
	if err != nil {
		return err
	}
	showUndo(out, undone, paint(out))
	return nil
}
