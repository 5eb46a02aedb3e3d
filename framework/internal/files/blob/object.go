package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// object reads an object of a bucket from where its reader has sought to. It asks for nothing
// until something is read.
type object struct {
	ctx    context.Context
	bucket *Bucket
	name   string
	size   int64
	at     int64
	body   io.ReadCloser // from at on; nil if nothing was asked for
}

// Seek implements io.Seeker.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, errors.New("blob: a place before the beginning")
	}
	if offset != o.at {
		if err := o.Close(); err != nil {
			return 0, err
		}
		o.at = offset
	}
	return offset, nil
}

// Read implements io.Reader.
func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.body == nil {
		if err := o.ask(); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	switch {
	case errors.Is(err, io.EOF) && o.at < o.size:
		err = fmt.Errorf("%w: %w", ErrUnreachable, io.ErrUnexpectedEOF)
	case err != nil && !errors.Is(err, io.EOF):
		err = problem(err)
	}
	return n, err
}

// ask requests the object from the place that was sought.
func (o *object) ask() error {
	var options minio.GetObjectOptions
	if o.at > 0 {
		if err := options.SetRange(o.at, 0); err != nil {
			return err
		}
	}
	b := o.bucket
	body, info, header, err := b.client.GetObject(o.ctx, b.opts.Bucket, b.opts.Prefix+o.name, options)
	if err := problem(err); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: %w", o.name, err)
		}
		return err
	}
	if header.Get("Content-Range") == "" && o.at > 0 || info.Size != o.size-o.at {
		_ = body.Close()
		return fmt.Errorf("%s does not have %d bytes (%s)", o.name, o.size, http.StatusText(http.StatusOK))
	}
	o.body = body
	return nil
}

// Close implements io.Closer.
func (o *object) Close() error {
	body := o.body
	if o.body = nil; body == nil {
		return nil
	}
	return body.Close()
}
