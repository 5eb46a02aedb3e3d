// Command vision is the bundled plugin that reads barcodes and QR codes from
// pictures (CONTRACT section 2: the tool `vision.detect`).
package main

import "github.com/koan-go/koan/plugins/kit"

func main() { kit.Serve(plugin()) }
