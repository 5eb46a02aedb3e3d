package files

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/files/blob"
)

// Keys of the configuration.
const (
	keyDir         = "files.dir"
	keyMaxBytes    = "files.maxBytes"
	keyCallerBytes = "files.callerBytes"
	keyTotalBytes  = "files.totalBytes"
	keyUnusedHours = "files.unusedHours"
	keyEndpoint    = "files.s3.endpoint"
	keyBucket      = "files.s3.bucket"
	keyRegion      = "files.s3.region"
	keyPrefix      = "files.s3.prefix"
	keyAccessKey   = "files.s3.accessKey"
	keySecretKey   = "files.s3.secretKey"
	keySilence     = "files.s3.timeoutMs"
)

// Settings implements catalog.Configurable.
func (p *Provider) Settings() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyDir, Default: "", Help: "folder that keeps uploaded and created files; servers with one database share it. Empty: the bucket of files.s3, or the folder `files` beside the data in SQLite, or beside the ledger of an app that opens its databases itself; with the data in PostgreSQL there are no files then"},
		{Key: keyMaxBytes, Default: 64 << 20, Min: 1, Max: 1 << 40, Unit: "bytes", Help: "largest file; 5 GiB at most in a bucket"},
		{Key: keyCallerBytes, Default: 256 << 20, Min: 1, Max: 1 << 50, Unit: "bytes", Help: "how much one caller's files may have together to which no committed run or row refers yet"},
		{Key: keyTotalBytes, Default: 64 << 30, Min: 1, Max: 1 << 50, Unit: "bytes", Help: "how much all files may have together"},
		{Key: keyUnusedHours, Default: 24, Min: 1, Max: 10000, Unit: "hours", Help: "how long a file is kept to which no committed run refers"},
		{Key: keyBucket, Default: "", Help: "bucket of an S3-compatible server that keeps the files, in place of files.dir"},
		{Key: keyEndpoint, Default: "https://s3.amazonaws.com", Help: "URL of that server", Check: checkEndpoint},
		{Key: keyRegion, Default: "", Help: "region of the bucket; empty is asked of the server"},
		{Key: keyPrefix, Default: "", Help: "path in the bucket below which the files are, such as `pantry/`"},
		{Key: keyAccessKey, Default: "", Help: "access key for the bucket; empty takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the credentials file of AWS's tools"},
		{Key: keySecretKey, Secret: true, Default: "", Help: "secret key of files.s3.accessKey; set it as KOAN_FILES_S3_SECRETKEY"},
		{Key: keySilence, Default: 15_000, Min: 100, Max: 600_000, Unit: "ms", Help: "how long the server of the bucket may be silent before a request to it fails"},
	}
}

func checkEndpoint(v any) error {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("must be a URL of scheme and host, such as https://s3.example.org")
	}
	return nil
}

// place returns where blobs are kept, nil for nowhere.
func (p *Provider) place(ctx context.Context, host catalog.Host) (blob.Store, error) {
	v := host.Settings()
	if v.String(keyBucket) != "" {
		return openBucket(ctx, host)
	}
	for _, key := range []string{keyEndpoint, keyRegion, keyPrefix, keyAccessKey, keySecretKey} {
		if v.IsSet(key) {
			return nil, misconfigured("%s has no meaning without %s", key, keyBucket)
		}
	}
	dir := v.String(keyDir)
	if dir == "" {
		if dir = p.beside(); dir == "" {
			return nil, nil
		}
		dir = filepath.Join(dir, "files")
	}
	folder, err := blob.OpenFolder(dir)
	if err != nil {
		return nil, fault.Newf(fault.ServiceUnavailable, "the folder of files %s cannot be used", dir).Because(err).
			WithHint("Check that this user may write there: %s. Or set %s to another folder.", err, keyDir)
	}
	return folder, nil
}

func misconfigured(format string, args ...any) error {
	return fault.Newf(fault.InvalidRequest, format, args...).WithHint("See docs/reference/configuration.md.")
}

// startTime bounds how long the start waits for the server of a bucket.
const startTime = 10 * time.Second

// openBucket returns the bucket that is configured. That its server does not answer now is no
// reason not to start: all else works meanwhile.
func openBucket(ctx context.Context, host catalog.Host) (blob.Store, error) {
	v := host.Settings()
	switch {
	case v.String(keyDir) != "":
		return nil, misconfigured("files are kept in %s or in %s, not in both", keyDir, keyBucket)
	case (v.String(keyAccessKey) == "") != (v.String(keySecretKey) == ""):
		return nil, misconfigured("%s and %s belong together: set both or none", keyAccessKey, keySecretKey)
	case v.Int(keyMaxBytes) > blob.MaxPut:
		return nil, misconfigured("%s is %d: a bucket takes files of %d bytes at most", keyMaxBytes, v.Int(keyMaxBytes), blob.MaxPut)
	}
	endpoint, err := url.Parse(v.String(keyEndpoint))
	if err != nil {
		return nil, err
	}
	prefix := strings.Trim(v.String(keyPrefix), "/")
	if prefix != "" {
		prefix += "/"
	}
	b, err := blob.NewBucket(blob.BucketOptions{
		Endpoint: endpoint, Bucket: v.String(keyBucket), Region: v.String(keyRegion), Prefix: prefix,
		AccessKey: v.String(keyAccessKey), SecretKey: v.String(keySecretKey), Silence: v.Duration(keySilence),
	})
	if err != nil {
		return nil, misconfigured("the bucket of files cannot be used: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	switch err := b.Check(ctx); {
	case err == nil:
	case errors.Is(err, blob.ErrRefused), errors.Is(err, blob.ErrNoBucket):
		return nil, broken(err)
	default:
		host.Log().Warn("the bucket of files does not answer; calls that need files fail until it does", "bucket", b.String(), "error", err)
	}
	return b, nil
}

// checkTime bounds how long a check of `doctor` waits.
const checkTime = 10 * time.Second

// Checks implements catalog.Checker.
func (p *Provider) Checks(ctx context.Context) []catalog.Check {
	s := p.store.Load()
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := s.blobs.Check(ctx); err != nil {
		return []catalog.Check{{Name: "files", Detail: s.blobs.String() + ": " + err.Error(), Hint: broken(err).Hint}}
	}
	return []catalog.Check{{Name: "files", OK: true, Detail: s.blobs.String()}}
}

// Report implements catalog.Reporter. A folder is where everybody expects it.
func (p *Provider) Report(catalog.Boot) []string {
	s := p.store.Load()
	if s == nil {
		return nil
	}
	if b, ok := s.blobs.(*blob.Bucket); ok {
		return []string{"Files: " + b.String()}
	}
	return nil
}
