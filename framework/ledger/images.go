package ledger

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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
	imagesPaged   = 3 // pages of images: for each one four bytes for its length, and the page
)

// compressFrom is from how many bytes images are compressed: a compressor takes a megabyte.
const compressFrom = 2 << 10

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
	missing := func(why string) []byte { return append([]byte{imagesMissing}, why...) }
	switch {
	case r.NoImages != "":
		return missing(r.NoImages)
	case r.Images.Len() == 0 && r.Committed && !r.Repaired && len(r.Changes) > 0:
		return []byte{imagesPaged} // no page: every row that was written is as it was
	case r.Images.Len() == 0:
		return nil
	}
	s := sealerOf{run: r.Run, sealing: sealing}
	if r.Images.Pages() == 1 && r.Images.Size() < journal.PageBytes {
		images, err := r.Images.Page(0)
		if err != nil {
			return missing(err.Error())
		}
		packed, err := s.pack(images, compressFrom)
		if err != nil {
			return missing(err.Error())
		}
		return packed
	}
	out := []byte{imagesPaged}
	for n := range r.Images.Pages() {
		page, err := s.page(r.Images, n)
		if err != nil {
			return missing(err.Error())
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(page))), page...)
	}
	return out
}

// sealerOf seals and opens what is secret in the images of a run.
type sealerOf struct {
	run     string
	sealing Sealing
	sealer  *seal.Sealer // once it was needed
}

// page returns a page of images as it is kept.
func (s *sealerOf) page(of *journal.Images, n int) ([]byte, error) {
	if page := of.PackedPage(n); page != nil {
		return page, nil
	}
	images, err := of.Page(n)
	if err != nil {
		return nil, err
	}
	packed, err := s.seal(images)
	if err != nil {
		return nil, err
	}
	return journal.PackPage(packed)
}

// pack returns images as one text, which is compressed from so many bytes on.
func (s *sealerOf) pack(images []journal.Image, compressFrom int) ([]byte, error) {
	packed, err := s.seal(images)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(packed)
	if err != nil {
		return nil, err
	}
	if len(raw) < compressFrom {
		return append([]byte{imagesPlain}, raw...), nil
	}
	raw, err = journal.Compress(raw)
	return append([]byte{imagesFlate}, raw...), err
}

// seal returns images with their secret values sealed.
func (s *sealerOf) seal(images []journal.Image) ([]packedImage, error) {
	packed := make([]packedImage, len(images))
	for i, image := range images {
		packed[i].Image = image
		if image.Secret == nil {
			continue
		}
		if s.sealer == nil {
			if s.sealing == nil {
				return nil, errors.New("there is no key to seal sensitive values with")
			}
			var err error
			if s.sealer, err = s.sealing(true); err != nil {
				return nil, fmt.Errorf("sensitive values could not be sealed: %w", err)
			}
		}
		packed[i].Image.Secret = nil
		packed[i].Secret = s.sealer.Seal(image.Secret, time.Now().Add(sealedFor), imagePurpose, s.run, image.Set, image.Entity, image.ID)
	}
	return packed, nil
}

// keptPages are the images of a run as they are kept. Each page is read when it is asked for.
type keptPages struct {
	sealerOf
	pages [][]byte // packed
}

var _ journal.Pages = (*keptPages)(nil)

// Pages implements journal.Pages.
func (k *keptPages) Pages() int { return len(k.pages) }

// Page implements journal.Pages.
func (k *keptPages) Page(n int) ([]journal.Image, error) {
	images, why, err := k.read(n)
	if err == nil && why != "" {
		err = errors.New("ledger: " + why)
	}
	return images, err
}

func (k *keptPages) read(n int) (images []journal.Image, why string, err error) {
	var all []packedImage
	if err := journal.UnpackPage(k.pages[n], &all); err != nil {
		return nil, "", fmt.Errorf("ledger: the changes of a run: %w", err)
	}
	return k.open(all)
}

// unpackImages reads what packImages made, and sees that all of it can be read. why says why there are none.
func unpackImages(run string, packed []byte, sealing Sealing) (images journal.Pages, why string, err error) {
	if len(packed) == 0 {
		return nil, "", nil
	}
	kept := &keptPages{sealerOf: sealerOf{run: run, sealing: sealing}}
	raw := packed[1:]
	switch packed[0] {
	case imagesMissing:
		return nil, string(raw), nil
	case imagesPlain, imagesFlate:
		return kept.whole(packed[0], raw)
	case imagesPaged:
		if kept.pages, err = splitPages(raw); err != nil {
			return nil, "", err
		}
	default:
		return nil, "another version of the program has written its changes", nil
	}
	for n := range kept.pages {
		if _, why, err := kept.read(n); why != "" || err != nil { // an undo needs all of them
			return nil, why, err
		}
	}
	return kept, "", nil
}

// whole reads images that were packed as one text.
func (s *sealerOf) whole(form byte, raw []byte) (journal.Pages, string, error) {
	images, why, err := s.unpack(form, raw)
	if err != nil || why != "" || len(images) == 0 {
		return nil, why, err
	}
	out := &journal.Images{}
	if err := out.Add(images...); err != nil {
		return nil, "", err
	}
	return out, "", nil
}

// splitPages returns the pages of images that were packed so.
func splitPages(raw []byte) (pages [][]byte, err error) {
	for len(raw) > 0 {
		if len(raw) < 4 || uint64(binary.BigEndian.Uint32(raw)) > uint64(len(raw)-4) {
			return nil, errors.New("ledger: the changes of a run are not whole")
		}
		end := 4 + int(binary.BigEndian.Uint32(raw))
		pages, raw = append(pages, raw[4:end]), raw[end:]
	}
	return pages, nil
}

// unpack reads what pack made. why says why secret values are not there.
func (s *sealerOf) unpack(form byte, raw []byte) (images []journal.Image, why string, err error) {
	if form == imagesFlate {
		if raw, err = journal.Decompress(raw); err != nil {
			return nil, "", fmt.Errorf("ledger: the changes of a run cannot be read: %w", err)
		}
	}
	var all []packedImage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, "", fmt.Errorf("ledger: the changes of a run cannot be read: %w", err)
	}
	return s.open(all)
}

// open returns images with their secret values. why says why those are not there.
func (s *sealerOf) open(all []packedImage) (images []journal.Image, why string, err error) {
	images = make([]journal.Image, len(all))
	for i, p := range all {
		images[i] = p.Image
		if p.Secret == "" || why != "" {
			continue
		}
		if s.sealer == nil && s.sealing != nil {
			if s.sealer, err = s.sealing(false); err != nil {
				return nil, "", fmt.Errorf("ledger: %w", err)
			}
		}
		if s.sealer == nil {
			why = "the key that sealed its sensitive values is not here"
			continue
		}
		secret, err := s.sealer.Open(p.Secret, imagePurpose, s.run, p.Image.Set, p.Image.Entity, p.Image.ID)
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
		if out.UndoneBy, err = undoneBy(ctx, j, run, r); err != nil {
			return nil, err
		}
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
