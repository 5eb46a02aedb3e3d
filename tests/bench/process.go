package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// rounds is how often each process is started; the median counts.
const rounds = 15

// figure is what a whole process costs.
type figure struct{ what, figure, goal string }

// processes measures the app's server.
func processes(app string) ([]figure, error) {
	ready, err := median(rounds, func() (float64, error) { return startToReady(app) })
	if err != nil {
		return nil, err
	}
	return []figure{{"server: start to the answer of initialize", fmt.Sprintf("%.0f ms", ready), ""}}, nil
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
