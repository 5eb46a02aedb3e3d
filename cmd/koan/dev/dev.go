// Package dev is `koan dev` and `koan serve --watch`: it serves an app in a process of its own, and replaces that process when
// what it is made of changes, while clients stay connected (CONTRACT section 12).
//
// What belongs here: what is watched, how the process is built and replaced, and how messages of clients wait
// meanwhile. Not here: what an app serves.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Options say what is served, and to whom.
type Options struct {
	Program Program
	Args    []string // of serve
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	// Ask asks the person at the terminal; nil where nobody is there.
	Ask func(ctx context.Context, question string) (yes bool)
}

// Program is what is served.
type Program interface {
	// Build returns the program's file, and the state of the sources that it was built from: what changes
	// while it builds is built next. Its error says what is wrong with them.
	Build(ctx context.Context, errs io.Writer) (file, state string, err error)
	// State returns a text that changes whenever the program has to be built again.
	State() string
}

// front is where clients are connected.
type front interface {
	// replace starts another process, and has it take the place of the one that serves once it does. Where it
	// does not begin to serve, nothing has changed.
	replace(ctx context.Context, made build) error
	// run serves clients until they go, or until the context ends.
	run(ctx context.Context) error
	// stop ends the process.
	stop()
}

// build is a program that was built.
type build struct {
	file string
	args []string
}

// The sources are looked at so often, one stat for each file, or so much less often that looking takes a twentieth of a
// core.
const (
	watchEvery     = 100 * time.Millisecond
	shareOfLooking = 20
)

// server builds and replaces.
type server struct {
	o     Options
	said  *tail
	front front
	good  bool // something serves
	args  []string
}

// Run serves until the clients of standard input go, or a signal comes.
func Run(ctx context.Context, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &server{o: o, said: &tail{to: o.Err}}
	address, rest := httpAddress(o.Args)
	if address != "" {
		f, err := newHTTPFront(address, s.said)
		if err != nil {
			return err
		}
		s.front = f
	} else {
		s.front = newPipeFront(o.In, o.Out, s.said)
	}
	s.args = append([]string{"serve"}, rest...)
	defer s.front.stop()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ended <- s.front.run(ctx) }()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	state := ""
	for {
		began := time.Now()
		now := o.Program.State()
		took := time.Since(began)
		if now != state {
			state = s.take(ctx)
		}
		select {
		case err := <-ended:
			return err
		case <-again:
			state = ""
		case <-time.After(max(watchEvery, shareOfLooking*took)):
		}
	}
}

// take builds what is there now, and serves it. What does not build, or does not begin to serve, leaves what served
// before. It returns the state of the sources that it has taken.
func (s *server) take(ctx context.Context) (state string) {
	began := time.Now()
	file, state, err := s.o.Program.Build(ctx, s.o.Err)
	if err != nil {
		s.say("not built: %v", err)
		s.keep()
		return state
	}
	made := build{file, s.args}
	s.said.forget()
	err = s.front.replace(ctx, made)
	if err != nil && s.drops(ctx, file) {
		err = s.front.replace(ctx, made)
	}
	if err != nil {
		s.say("does not serve: %v", err)
		s.keep()
		return state
	}
	s.good = true
	s.say("serves, %s after the change", time.Since(began).Round(10*time.Millisecond))
	return state
}

// drops asks whether to lose what the new schemas have no place for, if that is why the program does not serve,
// and lets it go.
func (s *server) drops(ctx context.Context, file string) bool {
	if s.o.Ask == nil || !s.said.has("migrate apply --drop") || !s.o.Ask(ctx, "Columns and tables that the schema does not have any more are lost with their data. Drop them?") {
		return false
	}
	cmd := exec.CommandContext(ctx, file, append([]string{"migrate", "apply", "--drop"}, s.args[1:]...)...)
	cmd.Stdout, cmd.Stderr = s.o.Err, s.o.Err
	return cmd.Run() == nil
}

func (s *server) keep() {
	if !s.good {
		s.say("waiting for a change that repairs it")
		return
	}
	s.say("what served before keeps serving; waiting for a change that repairs it")
}

func (s *server) say(format string, args ...any) {
	fmt.Fprintf(s.o.Err, "koan dev: "+format+"\n", args...)
}

// httpAddress takes the address of --http out of arguments; "" is standard input and output.
func httpAddress(args []string) (address string, rest []string) {
	for i := 0; i < len(args); i++ {
		switch value, ok := strings.CutPrefix(args[i], "--http="); {
		case ok:
			address = value
		case args[i] == "--http" && i+1 < len(args):
			i++
			address = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	return address, rest
}

// errEnded is why a process does not serve that has ended.
var errEnded = errors.New("its process has ended; the lines above say why")
