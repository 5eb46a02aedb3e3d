//go:build !linux

package node

import "errors"

func (process) seal(uintptr) error { return errors.New("Node scripts are confined on Linux only") }
