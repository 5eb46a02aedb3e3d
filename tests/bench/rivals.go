package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	rivalsFolder = "tests/bench/rivals"
	// rivalsNode is what they run on: it is newer than many systems' own (make setup).
	rivalsNode = "tests/npm/node_modules/node/bin/node"
)

// rivals measures other systems that run an agent's script, as npm has them. What cannot
// be measured here has a row that says why.
func rivals() []figure {
	const what = "other systems that run scripts"
	node, err := filepath.Abs(rivalsNode)
	if err == nil {
		_, err = os.Stat(node)
	}
	if err == nil {
		err = installRivals()
	}
	if err != nil {
		return []figure{{what, "not measured: " + firstLine(err.Error()), ""}}
	}
	cmd := exec.Command(node, "rivals.mjs")
	cmd.Dir = rivalsFolder
	out, err := cmd.Output()
	var found []figure
	for line := range bytes.Lines(out) {
		var f struct {
			Name, Error    string
			Upstream       bool // the calls are those of another server
			Calls, Clients int
			P50, P95       float64
			PerSecond      float64
		}
		switch jsonErr := json.Unmarshal(line, &f); {
		case jsonErr != nil:
			found = append(found, figure{what, "not measured: " + firstLine(string(line)), ""})
		case f.Error != "":
			found = append(found, figure{f.Name, "not measured: " + f.Error, ""})
		case f.Clients > 1:
			found = append(found, figure{fmt.Sprintf("%s: scripts of %d calls per second, %d at once", f.Name, f.Calls, f.Clients), fmt.Sprintf("%.0f", f.PerSecond), ""})
		case f.Upstream:
			found = append(found, figure{fmt.Sprintf("%s: a script of %d calls of echo of server-everything, p50 and p95", f.Name, f.Calls), fmt.Sprintf("%.2f, %.2f ms", f.P50, f.P95), ""})
		default:
			found = append(found, figure{fmt.Sprintf("%s: a script of %d calls, p50", f.Name, f.Calls), fmt.Sprintf("%.2f ms", f.P50), ""})
		}
	}
	if err != nil {
		found = append(found, figure{what, "ended early: " + firstLine(err.Error()), ""})
	}
	return found
}

// installRivals installs them where they are not. None of their scripts runs: what they
// need has been built.
func installRivals() error {
	if _, err := os.Stat(filepath.Join(rivalsFolder, "node_modules")); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = rivalsFolder
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w: %s", err, text)
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
