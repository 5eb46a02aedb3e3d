package entschema

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

//go:embed process.go.tmpl
var processSource string

var processTemplate = template.Must(template.New("process").Parse(processSource))

// patience is how long a function of the schemas may take.
const patience = 10 * time.Second

// process runs functions of the schemas: those that make defaults, and those that check values. It starts
// when it is first asked, and again after it has ended.
type process struct {
	program string // built from the schemas
	folder  string // of the program, removed at the end

	mu      sync.Mutex
	running *conversation // nil before the first question and after an end
}

// conversation is one life of the process.
type conversation struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// question is what the process is asked, in one line.
type question struct {
	Do     string          `json:"do"` // create, update, check
	Schema string          `json:"schema"`
	Field  string          `json:"field"`
	Value  json.RawMessage `json:"value,omitempty"`
}

// answer is one line of the process.
type answer struct {
	Value   json.RawMessage `json:"value"`
	Refused string          `json:"refused"` // what a check says against the value
	Failed  string          `json:"failed"`  // a panic
}

// build compiles the program. Nothing is written into the module: the go command is shown a file that is
// only in a folder of ours.
func (f folder) build(ctx context.Context, schemas string, names []string) (p *process, err error) {
	dir, err := os.MkdirTemp("", "koan-schemas-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	var source bytes.Buffer
	if err := processTemplate.Execute(&source, map[string]any{"Package": schemas, "Names": names}); err != nil {
		return nil, err
	}
	main := filepath.Join(dir, "main.go")
	// Below the schemas, where it may import what is internal there.
	shown := filepath.Join(f.dir, "koanprocess", "main.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{shown: main}})
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := errors.Join(os.WriteFile(main, source.Bytes(), 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return nil, err
	}
	p = &process{program: filepath.Join(dir, "schemas"), folder: dir}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-w", "-overlay", overlayFile, "-o", p.program, shown)
	cmd.Dir = f.root
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, f.trouble(string(said), err)
	}
	return p, nil
}

// ask asks the process one question.
func (p *process) ask(q question) (answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		started, err := p.start()
		if err != nil {
			return answer{}, p.unavailable(q, err)
		}
		p.running = started
	}
	a, err := p.running.ask(q)
	switch {
	case err != nil:
		p.running.end()
		p.running = nil
		return answer{}, p.unavailable(q, err)
	case a.Failed != "":
		return answer{}, fault.Newf(fault.Internal, "the code of %s.%s failed: %s", q.Schema, q.Field, a.Failed).WithHint("Mend the schema's function, and start again.")
	}
	return a, nil
}

func (p *process) unavailable(q question, err error) error {
	return fault.Newf(fault.ServiceUnavailable, "the code of %s.%s did not answer: %v", q.Schema, q.Field, err).Because(err).
		WithHint("Try again; the process of the schemas is started anew. Their functions must return within 10 s and not end the process.")
}

func (p *process) start() (*conversation, error) {
	c := &conversation{cmd: exec.Command(p.program)}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

func (c *conversation) ask(q question) (a answer, err error) {
	line, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return a, fmt.Errorf("its process has ended: %w", err)
	}
	read, err := c.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("its process has ended: %w", err)
	}
	return a, json.Unmarshal(read, &a)
}

func (c *conversation) end() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// stop ends the process, and removes its program.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		p.running.end()
		p.running = nil
	}
	return os.RemoveAll(p.folder)
}

// reasonOf is what a check says, without the field's name that ent puts before it.
func reasonOf(refused string) error { return errors.New(strings.TrimSpace(refused)) }
