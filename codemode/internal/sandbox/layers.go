package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// Missing is a layer of isolation that cannot be had, and why.
type Missing struct{ Layer, Why string }

// open finds the program and the layers that work on this system, and starts the
// pool with its first worker. What is missing is known from trying it.
func (s *Sandbox) open() error {
	all, err := programs(s.opts.Program)
	if err != nil {
		return err
	}
	return s.openFirst(all)
}

// openFirst takes the first of the programs that works.
func (s *Sandbox) openFirst(programs []program) error {
	var refused error
	for _, program := range programs {
		err := s.openWith(program)
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

func (s *Sandbox) openWith(program program) error {
	try := func(layers []string) error {
		p, first, err := openPool(s.opts, program, layers)
		if err != nil {
			return err
		}
		s.pool, s.layers = p, layers
		p.offer(first)
		return nil
	}
	err := try(s.opts.Layers)
	if err == nil || errors.Is(err, errOtherBuild) {
		return err
	}
	if bare := s.alone(program, nil); bare != nil {
		return bare // it is not for the layers
	}
	var have []string
	for _, l := range s.opts.Layers {
		if err := s.alone(program, []string{l}); err != nil {
			s.missing = append(s.missing, Missing{l, reason(err)})
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
		s.missing = append(s.missing, Missing{last, "not together with the others: " + reason(err)})
		have = have[:len(have)-1]
	}
}

// alone tries whether a worker with these layers starts.
func (s *Sandbox) alone(program program, layers []string) error {
	p, _, err := openPool(s.opts, program, layers)
	if err != nil {
		return err
	}
	p.close()
	return nil
}

// reason is one line: the last that a worker said, or the error.
func reason(err error) string {
	text := err.Error()
	var said *notReady
	if errors.As(err, &said) && said.words != "" {
		text = said.words
	}
	return text[strings.LastIndex(text, "\n")+1:]
}

// required fails where a layer that must be there is missing.
func (s *Sandbox) required() error {
	var wanting []string
	for _, l := range s.opts.Require {
		if slices.Contains(s.layers, l) {
			continue
		}
		why := "it is switched off"
		for _, m := range s.missing {
			if m.Layer == l {
				why = m.Why
			}
		}
		wanting = append(wanting, fmt.Sprintf("%s (%s)", l, why))
	}
	if len(wanting) == 0 {
		return nil
	}
	return fault.Newf(fault.CapabilityUnsupported, "this system does not give what scripts must be isolated by: %s; there is %s", strings.Join(wanting, ", "), s.Isolation()).
		WithHint("Run where the kernel has it and the container allows it, or take it out of sandbox.require.")
}

// Isolation says what stands between scripts and the system:
// "process+seccomp+landlock+namespaces", or what there is of it.
func (s *Sandbox) Isolation() string { return worker.Isolation(s.layers) }

// Missing are the layers that were to be had and are not.
func (s *Sandbox) Missing() []Missing { return slices.Clone(s.missing) }

// Program says what workers are made of: the path of a worker binary, or "" for
// this executable.
func (s *Sandbox) Program() string {
	if s.program.self {
		return ""
	}
	return s.program.path
}
