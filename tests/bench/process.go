package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/codemode/sandbox"
)

// rounds is how often each process is started; the median counts.
const rounds = 15

// figure is what a whole process costs.
type figure struct{ what, figure, goal string }

// processes measures the app's server and the workers of its binary and of the
// small one.
func processes(app, small string) ([]figure, error) {
	ready, err := median(rounds, func() (float64, error) { return startToReady(app) })
	if err != nil {
		return nil, err
	}
	var out []figure
	for _, of := range []struct{ name, path string }{{"worker binary", small}, {"full binary", app}} {
		var private float64
		cold, err := median(rounds, func() (float64, error) {
			ms, dirty, err := coldStart(of.path)
			private = dirty
			return ms, err
		})
		if err != nil {
			return nil, err
		}
		out = append(out,
			figure{"worker of the " + of.name + ": cold start to ready", fmt.Sprintf("%.1f ms", cold), "15 ms"},
			figure{"worker of the " + of.name + ": private memory, idle", fmt.Sprintf("%.1f MB", private), "8 MB"})
	}
	return append(out, figure{"server: start to the answer of initialize", fmt.Sprintf("%.0f ms", ready), ""}), nil
}

func median(n int, measure func() (float64, error)) (float64, error) {
	var all []float64
	for range n {
		v, err := measure()
		if err != nil {
			return 0, err
		}
		all = append(all, v)
	}
	slices.Sort(all)
	return all[n/2], nil
}

// startToReady is the time from the start of a server without data to its first
// answer, in milliseconds.
func startToReady(app string) (float64, error) {
	data := filepath.Join(os.TempDir(), "koan-bench-"+strconv.Itoa(os.Getpid()))
	defer os.RemoveAll(data)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return 0, err
	}
	return startOver(app, data)
}

// startOver is the same over a folder of data.
func startOver(app, data string) (float64, error) {
	begun := time.Now()
	cmd := exec.Command(app, "serve", "--database", "sqlite://"+data, "--log.level", "error")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	_, err = bufio.NewReader(out).ReadString('\n')
	took := time.Since(begun)
	_ = in.Close()
	if werr := cmd.Wait(); err == nil {
		err = werr
	}
	return float64(took.Microseconds()) / 1000, err
}

// coldStart is the time from nothing to a confined worker that waits for its job,
// in milliseconds, and that worker's private memory in megabytes.
func coldStart(app string) (ms, private float64, err error) {
	path, err := filepath.Abs(app)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	s, err := sandbox.New(sandbox.Options{PoolSize: 1, Program: path})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	if err := s.Warm(context.Background()); err != nil {
		return 0, 0, err
	}
	ms = float64(time.Since(begun).Microseconds()) / 1000
	private, err = privateOfChildren(filepath.Base(path))
	return ms, private, err
}

// privateOfChildren is the memory that this process's child of that name shares
// with nobody (pages of the executable are shared with the app), in megabytes.
func privateOfChildren(name string) (float64, error) {
	self := strconv.Itoa(os.Getpid())
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended in between
		}
		text := string(raw)
		if f := strings.Fields(text[strings.LastIndex(text, ")")+1:]); len(f) < 2 || f[1] != self || !strings.Contains(text, "("+name) {
			continue
		}
		rollup, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "smaps_rollup"))
		if err != nil {
			return 0, err
		}
		total := 0.0
		for _, l := range strings.Split(string(rollup), "\n") {
			if f := strings.Fields(l); len(f) > 1 && f[0] == "Private_Dirty:" {
				kb, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					return 0, err
				}
				total += kb
			}
		}
		return total / 1024, nil
	}
	return 0, fmt.Errorf("no worker of %s is alive", name)
}
