package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// Missing is a layer of isolation that is not available, and the reason.
type Missing struct{ Layer, Why string }

// open determines by trial which program and which layers work on this system, and starts
// the pool with its first worker.
func (s *Sandbox) open() error {
	all, err := programs(s.opts.Program)
	if err != nil {
		return err
	}
	return s.tryPrograms(all)
}

// tryPrograms starts the pool with the first program that works.
func (s *Sandbox) tryPrograms(programs []program) error {
	var refused error
	for _, program := range programs {
		err := s.tryProgram(program)
		if err == nil {
			s.program = program
			return nil
		}
		program.close()
		if refused = err; !program.self {
			s.opts.Log.Warn("the worker binary beside the app is not used", "path", program.path, "error", err)
		}
	}
	return refused
}

// tryProgram starts the pool with all layers, else with as many as work together.
func (s *Sandbox) tryProgram(program program) error {
	try := func(layers []string) error {
		p, first, err := openPool(s.opts, program, layers)
		if err != nil {
			return err
		}
		s.pool, s.layers = p, layers
		p.addFirst(first)
		return nil
	}
	if i := s.opts.Interpreter; i != nil {
		return try(i.Layers)
	}
	err := try(s.opts.Layers)
	if err == nil || errors.Is(err, errOtherBuild) {
		return err
	}
	if bare := s.tryLayers(program, nil); bare != nil {
		return bare // the program fails even without layers
	}
	var have []string
	for _, l := range s.opts.Layers {
		if err := s.tryLayers(program, []string{l}); err != nil {
			s.missing = append(s.missing, Missing{l, shortReason(err)})
			continue
		}
		have = append(have, l)
	}
	for {
		err := try(have)
		if err == nil || len(have) == 0 {
			return err
		}
		last := have[len(have)-1]
		s.missing = append(s.missing, Missing{last, "not together with the others: " + shortReason(err)})
		have = have[:len(have)-1]
	}
}

// tryLayers returns an error if no worker with these layers starts.
func (s *Sandbox) tryLayers(program program, layers []string) error {
	p, _, err := openPool(s.opts, program, layers)
	if err != nil {
		return err
	}
	p.close()
	return nil
}

// shortReason returns one line: the last one of the worker's stderr, or of the error.
func shortReason(err error) string {
	text := err.Error()
	var failed *notReady
	if errors.As(err, &failed) && failed.stderr != "" {
		text = failed.stderr
	}
	return text[strings.LastIndex(text, "\n")+1:]
}

// checkRequired returns a fault if a required layer is not in use.
func (s *Sandbox) checkRequired() error {
	var missing []string
	for _, l := range s.opts.Require {
		if slices.Contains(s.layers, l) {
			continue
		}
		why := "it is disabled"
		for _, m := range s.missing {
			if m.Layer == l {
				why = m.Why
			}
		}
		missing = append(missing, fmt.Sprintf("%s (%s)", l, why))
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.Newf(fault.CapabilityUnsupported, "scripts cannot be isolated as required on this system: %s; there is %s", strings.Join(missing, ", "), s.Isolation()).
		WithHint("Use a system whose kernel has the layer and whose container allows it, or remove it from sandbox.require.")
}

// Isolation names the layers between scripts and the system:
// "process+seccomp+landlock+namespaces", or those of them that are in use.
func (s *Sandbox) Isolation() string { return worker.Isolation(s.layers) }

// Missing returns the layers that Options.Layers asked for and that are not available.
func (s *Sandbox) Missing() []Missing { return slices.Clone(s.missing) }

// Program returns the path of the worker binary, or "" if workers are this executable.
func (s *Sandbox) Program() string {
	if s.program.self {
		return ""
	}
	return s.program.path
}
