//go:build !linux

package cell

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func (*Cell) become() error {
	return errors.New("scripts of an interpreter are confined on Linux only")
}
