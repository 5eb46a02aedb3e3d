//go:build !unix

package pgtest

import "syscall"

func lend(string) (*syscall.SysProcAttr, error) { return nil, nil }
