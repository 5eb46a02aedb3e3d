package ledger

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/undo"
	"github.com/koan-go/koan/framework/seal"
)

// How images are packed: the first byte says it.
const (
	imagesMissing = 0 // what follows says why
	imagesPlain   = 1 // JSON
	imagesFlate   = 2 // the same, compressed
)

// compressFrom is from how many bytes images are compressed: a compressor takes a megabyte.
const compressFrom = 2 << 10

// MaxImages bounds the images of a run when they are read again, in bytes.
const MaxImages = 1 << 30

// Sealing returns the sealer of secret values; create makes its key where there is none.
type Sealing func(create bool) (*seal.Sealer, error)

// imagePurpose is what secret values are sealed for, besides their run.
const imagePurpose = "koan journal image"

// sealedFor is how long a seal is valid: the journal decides how long it is kept.
const sealedFor = 200 * 365 * 24 * time.Hour

// packedImage is an image with its secret values sealed.
type packedImage struct {
	journal.Image
	Secret string `json:"secret,omitempty"`
}

// packImages returns the images of a run as they are kept, nil where it has none.
func packImages(r *journal.Record, sealing Sealing) []byte {
	if r.NoImages != "" {
		return append([]byte{imagesMissing}, r.NoImages...)
	}
	if len(r.Images) == 0 {
		return nil
	}
	raw, err := sealImages(r.Run, r.Images, sealing)
	if err != nil {
		return append([]byte{imagesMissing}, err.Error()...)
	}
	if len(raw) < compressFrom {
		return append([]byte{imagesPlain}, raw...)
	}
	var b bytes.Buffer
	b.WriteByte(imagesFlate)
	if err := deflate(&b, raw); err != nil { // a buffer takes everything
		return append([]byte{imagesMissing}, err.Error()...)
	}
	return b.Bytes()
}

func sealImages(run string, images []journal.Image, sealing Sealing) ([]byte, error) {
	packed := make([]packedImage, len(images))
	var sealer *seal.Sealer
	for i, image := range images {
		packed[i].Image = image
		if image.Secret == nil {
			continue
		}
		if sealer == nil {
			if sealing == nil {
				return nil, errors.New("there is no key to seal sensitive values with")
			}
			var err error
			if sealer, err = sealing(true); err != nil {
				return nil, fmt.Errorf("sensitive values could not be sealed: %w", err)
			}
		}
		packed[i].Image.Secret = nil
		packed[i].Secret = sealer.Seal(image.Secret, time.Now().Add(sealedFor), imagePurpose, run, image.Set, image.Entity, image.ID)
	}
	return json.Marshal(packed)
}

// unpackImages reads what packImages made. why says why there are none.
func unpackImages(run string, packed []byte, sealing Sealing) (images []journal.Image, why string, err error) {
	if len(packed) == 0 {
		return nil, "", nil
	}
	raw := packed[1:]
	switch packed[0] {
	case imagesMissing:
		return nil, string(raw), nil
	case imagesPlain:
	case imagesFlate:
		if raw, err = inflate(raw); err != nil {
			return nil, "", err
		}
	default:
		return nil, "another version of the program has written its changes", nil
	}
	if images, why, err = openImages(run, raw, sealing); why != "" {
		images = nil // an undo needs all of them
	}
	return images, why, err
}

// deflate compresses, fast.
func deflate(to *bytes.Buffer, raw []byte) error {
	w, err := flate.NewWriter(to, flate.BestSpeed)
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return errors.Join(err, w.Close())
}

func inflate(packed []byte) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxImages))
	if err != nil {
		return nil, fmt.Errorf("ledger: the changes of a run cannot be read: %w", err)
	}
	return raw, nil
}

// openImages reads what sealImages made. why says why their secret values are not there.
func openImages(run string, raw []byte, sealing Sealing) (images []journal.Image, why string, err error) {
	var all []packedImage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, "", fmt.Errorf("ledger: the changes of a run cannot be read: %w", err)
	}
	images = make([]journal.Image, len(all))
	var sealer *seal.Sealer
	for i, p := range all {
		images[i] = p.Image
		if p.Secret == "" || why != "" {
			continue
		}
		if sealer == nil && sealing != nil {
			if sealer, err = sealing(false); err != nil {
				return nil, "", fmt.Errorf("ledger: %w", err)
			}
		}
		if sealer == nil {
			why = "the key that sealed its sensitive values is not here"
			continue
		}
		secret, err := sealer.Open(p.Secret, imagePurpose, run, p.Image.Set, p.Image.Entity, p.Image.ID)
		if err != nil {
			why = "the key that sealed its sensitive values is another one"
			continue
		}
		images[i].Secret = secret
	}
	return images, why, nil
}

// SealWith sets what seals secret values, before the first call.
func (j *Journal) SealWith(s Sealing) *Journal {
	j.sealing = s
	return j
}

// Undoable returns what an undo needs of a run that has ended, nil where there is none that the
// reader may see: what it did is read only then.
func (j *Journal) Undoable(ctx context.Context, run string, r Reader) (out *undo.Kept, err error) {
	if cannotStartID(run) {
		return nil, nil
	}
	b := j.statement("SELECT CAST(record AS text), CAST(calls AS text) FROM koan_journal WHERE id = ").Arg(run)
	err = j.each(ctx, b, func(rows *sql.Rows) error {
		var record string
		var calls sql.NullString
		if err := rows.Scan(&record, &calls); err != nil {
			return err
		}
		has, trail, err := parts(record, calls.String)
		if err != nil || !r.sees(has, trail) {
			return err
		}
		out, err = undoable(run, record, trail)
		return err
	})
	if err != nil {
		return nil, err
	}
	if out != nil {
		return out, j.addImages(ctx, out)
	}
	q := j.statement("SELECT record FROM koan_begun WHERE run = ").Arg(run)
	err = j.each(ctx, q, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var begun journal.Record
		if err := json.Unmarshal([]byte(text), &begun); err != nil {
			return err
		}
		if r.sees(map[string]any{"subject": begun.Subject, "set": begun.Set}, nil) {
			out = &undo.Kept{Run: run, UnderWay: true}
		}
		return nil
	})
	return out, err
}

// addImages reads what the run did to rows.
func (j *Journal) addImages(ctx context.Context, k *undo.Kept) error {
	b := j.statement("SELECT images FROM koan_journal WHERE id = ").Arg(k.Run)
	return j.each(ctx, b, func(rows *sql.Rows) error {
		var images []byte
		err := rows.Scan(&images)
		if err == nil {
			k.Images, k.NoImages, err = unpackImages(k.Run, images, j.sealing)
		}
		return err
	})
}

// undoable reads a row without its images.
func undoable(run, record string, trail [][]any) (*undo.Kept, error) {
	var has struct {
		Outcome   string `json:"outcome"`
		RepeatOf  string `json:"repeat_of"`
		Committed int    `json:"committed"`
		DryRun    int    `json:"dry_run"`
		Created   int    `json:"created"`
		Updated   int    `json:"updated"`
		Deleted   int    `json:"deleted"`
		Outside   int    `json:"outside_count"`
		Repaired  int    `json:"repaired"`
	}
	if err := decode(record, &has); err != nil {
		return nil, err
	}
	out := &undo.Kept{
		Run: run, Outcome: has.Outcome, RepeatOf: has.RepeatOf, Committed: has.Committed != 0, DryRun: has.DryRun != 0, Repaired: has.Repaired != 0,
		Changes: has.Created + has.Updated + has.Deleted, OutsideCount: has.Outside,
	}
	for _, c := range trail {
		at := func(name string) any {
			for i, m := range callMembers {
				if m.name == name && i < len(c) {
					return c[i]
				}
			}
			return nil
		}
		if outside, _ := at("outside").(json.Number); outside != "1" {
			continue
		}
		text := func(name string) string {
			s, _ := at(name).(string)
			return s
		}
		out.Outside = append(out.Outside, undo.OutsideCall{Tool: text("tool"), Operation: text("operation"), Outcome: text("outcome")})
	}
	return out, nil
}
