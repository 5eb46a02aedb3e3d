//go:build !cgo

package sqlite

func returnLargeBlocks() {}
