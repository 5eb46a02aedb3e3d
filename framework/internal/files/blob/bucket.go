package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is a Store in a bucket of an S3-compatible server.
type Bucket struct {
	client *minio.Core
	opts   BucketOptions
}

var _ Store = (*Bucket)(nil)

// BucketOptions say where a bucket is.
type BucketOptions struct {
	Endpoint *url.URL // scheme and host; what else it has is ignored
	Bucket   string
	Region   string // "" is asked of the server
	Prefix   string // of all names: "" or a path that ends in a slash
	// AccessKey and SecretKey are the credentials; if they are "", those of the environment and of
	// the file of AWS's tools are taken.
	AccessKey, SecretKey string
	Silence              time.Duration // how long the server may be silent
}

// tries is how often a request is sent whose answer says that it may succeed later.
const tries = 3

// MaxPut is the largest blob that S3 takes in one request, in bytes. Parts are not used: what
// breaks off would leave them behind.
const MaxPut = 5 << 30

// NewBucket returns the store. It sends nothing.
func NewBucket(o BucketOptions) (*Bucket, error) {
	creds := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	if o.AccessKey != "" {
		creds = credentials.NewStaticV4(o.AccessKey, o.SecretKey, "")
	}
	dial := &net.Dialer{Timeout: o.Silence}
	client, err := minio.NewCore(o.Endpoint.Host, &minio.Options{
		Creds: creds, Secure: o.Endpoint.Scheme == "https", Region: o.Region, MaxRetries: tries,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, TLSHandshakeTimeout: o.Silence, ForceAttemptHTTP2: false, DisableCompression: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dial.DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return &conn{c, o.Silence}, nil
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{client, o}, nil
}

// conn ends when nothing has moved on it for a while, in either direction.
type conn struct {
	net.Conn
	silence time.Duration
}

func (c *conn) Read(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.silence))
	return c.Conn.Read(p)
}

func (c *conn) Write(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.silence))
	return c.Conn.Write(p)
}

// problem sorts an error of the client.
func problem(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	answer := minio.ToErrorResponse(err)
	switch answer.Code {
	case minio.NoSuchKey:
		return fs.ErrNotExist
	case minio.NoSuchBucket:
		return fmt.Errorf("%w: %w", ErrNoBucket, err)
	}
	if s := answer.StatusCode; s == 0 || s >= http.StatusInternalServerError || s == http.StatusTooManyRequests || s == http.StatusRequestTimeout {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// put sends an object in one request, whose signature covers the hash: what arrives damaged or in
// part is not stored.
func (b *Bucket) put(ctx context.Context, name string, from io.ReadSeeker, size int64, sum string) error {
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true} // it is not to be computed once more
	_, err := b.client.PutObject(ctx, b.opts.Bucket, b.opts.Prefix+name, from, size, "", sum, o)
	return problem(err)
}

// Spool implements Store: in the folder for temporary files.
func (b *Bucket) Spool() (*os.File, error) { return os.CreateTemp("", "koan-upload-") }

// Put implements Store.
func (b *Bucket) Put(ctx context.Context, name string, from *os.File, sum string) error {
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b.put(ctx, name, from, size, sum)
}

// Write implements Store.
func (b *Bucket) Write(ctx context.Context, name string, raw []byte) error {
	sum := sha256.Sum256(raw)
	return b.put(ctx, name, bytes.NewReader(raw), int64(len(raw)), hex.EncodeToString(sum[:]))
}

// Read implements Store.
func (b *Bucket) Read(ctx context.Context, name string) ([]byte, error) {
	body, _, _, err := b.client.GetObject(ctx, b.opts.Bucket, b.opts.Prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, problem(err)
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, maxSmall))
	return raw, problem(err)
}

// Open implements Store.
func (b *Bucket) Open(ctx context.Context, name string, size int64) (io.ReadSeekCloser, error) {
	return &object{ctx: ctx, bucket: b, name: name, size: size}, nil
}

// Written implements Store.
func (b *Bucket) Written(ctx context.Context, name string) (time.Time, error) {
	info, err := b.client.Client.StatObject(ctx, b.opts.Bucket, b.opts.Prefix+name, minio.StatObjectOptions{})
	return info.LastModified, problem(err)
}

// List implements Store.
func (b *Bucket) List(ctx context.Context, prefix string, visit func(name string, written time.Time) error) error {
	ctx, cancel := context.WithCancel(ctx) // ends the listing when a visit fails
	defer cancel()
	for o := range b.client.Client.ListObjects(ctx, b.opts.Bucket, minio.ListObjectsOptions{Prefix: b.opts.Prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return problem(o.Err)
		}
		if err := visit(strings.TrimPrefix(o.Key, b.opts.Prefix), o.LastModified); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := problem(b.client.Client.RemoveObject(ctx, b.opts.Bucket, b.opts.Prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Tidy implements Store: a request that breaks off leaves nothing in a bucket.
func (b *Bucket) Tidy(context.Context, time.Time) error { return nil }

// Check implements Store.
func (b *Bucket) Check(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.client.Client.ListObjects(ctx, b.opts.Bucket, minio.ListObjectsOptions{Prefix: b.opts.Prefix, MaxKeys: 1}) {
		return problem(o.Err)
	}
	return ctx.Err()
}

func (b *Bucket) String() string {
	return "s3://" + b.opts.Bucket + "/" + b.opts.Prefix + " at " + b.opts.Endpoint.Host
}
