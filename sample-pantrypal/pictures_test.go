//go:build pictures

package main

func init() { pictures = "../docs/images" }
