// Command server serves S3 from a folder, in which `data` has a folder for each bucket: the gateway of
// Versity, which people use. It ends when its input does.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: server FOLDER ADDRESS ACCESSKEY SECRETKEY")
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	beside, err := meta.NewSideCar(filepath.Join(os.Args[1], "meta")) // not every file system has attributes
	if err != nil {
		log.Fatal(err)
	}
	backend, err := posix.New(filepath.Join(os.Args[1], "data"), beside, posix.PosixOpts{SideCarDir: filepath.Join(os.Args[1], "meta")})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		Ports: []string{os.Args[2]}, RootUserAccess: os.Args[3], RootUserSecret: os.Args[4], Region: "eu-central-1",
		KeepAlive: true, Quiet: true, MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10000,
	}))
}
