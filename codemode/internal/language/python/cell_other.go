//go:build !linux

package python

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func (*cell) become() error { return errors.New("Python scripts are confined on Linux only") }
