//go:build !unix

package pgtest

import "syscall"

func Lend(string) (*syscall.SysProcAttr, error) { return nil, nil }
