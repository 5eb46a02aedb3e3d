package journal

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// PageBytes is from how many bytes on a page of images, or of anything that is kept like them, is packed.
const PageBytes = 64 << 10

// MaxPage bounds a page when it is unpacked, in bytes.
const MaxPage = 1 << 30

// Pages are the images of a run, page by page: whoever goes through those of a large run holds one page
// of them at a time.
type Pages interface {
	// Pages returns how many there are.
	Pages() int
	// Page returns one, from 0, in the order in which they were made.
	Page(n int) ([]Image, error)
}

// Images are images that are kept in memory, packed page by page. The zero value has none. They are written
// by one goroutine, and read by any number of them afterwards.
type Images struct {
	packed    []packedPage
	open      []Image // the last page
	openBytes int
	size      int
	count     int
	unnamed   int
	sets      map[string]bool
}

// packedPage is a page as PackPage has made it.
type packedPage struct {
	data   []byte
	secret bool // an image of it has secret values
}

var _ Pages = (*Images)(nil)

// Add adds images. They are not changed afterwards.
func (s *Images) Add(images ...Image) error {
	for i := range images {
		if s.sets == nil {
			s.sets = map[string]bool{}
		}
		s.count, s.sets[images[i].Set] = s.count+1, true
		if images[i].Entity == "" {
			s.unnamed++
		}
	}
	return s.write(images)
}

// Append adds the images of a later commit. They are not added to any more.
func (s *Images) Append(more *Images) error {
	if more == nil {
		return nil
	}
	if s.sets == nil {
		s.sets = map[string]bool{}
	}
	maps.Copy(s.sets, more.sets)
	s.count, s.unnamed = s.count+more.count, s.unnamed+more.unnamed
	if len(more.packed) > 0 {
		if err := s.pack(); err != nil {
			return err
		}
		s.packed, s.size = append(s.packed, more.packed...), s.size+more.size
	}
	return s.write(more.open)
}

// write puts images on the open page, and packs it where it is full.
func (s *Images) write(images []Image) error {
	for i := range images {
		s.open, s.openBytes = append(s.open, images[i]), s.openBytes+images[i].Size()
		if s.openBytes < PageBytes {
			continue
		}
		if err := s.pack(); err != nil {
			return err
		}
	}
	return nil
}

// pack packs the open page.
func (s *Images) pack() error {
	if len(s.open) == 0 {
		return nil
	}
	page, err := PackPage(s.open)
	if err != nil {
		return err
	}
	secret := slices.ContainsFunc(s.open, func(i Image) bool { return i.Secret != nil })
	s.packed, s.size = append(s.packed, packedPage{page, secret}), s.size+len(page)
	s.open, s.openBytes = nil, 0
	return nil
}

// PackedPage returns a page as PackPage has made it, where that is done already and no image of it has
// secret values; else nil.
func (s *Images) PackedPage(n int) []byte {
	if n == len(s.packed) || s.packed[n].secret {
		return nil
	}
	return s.packed[n].data
}

// Len returns how many images there are.
func (s *Images) Len() int {
	if s == nil {
		return 0
	}
	return s.count
}

// Unnamed returns how many of them belong to no row of an entity.
func (s *Images) Unnamed() int {
	if s == nil {
		return 0
	}
	return s.unnamed
}

// Sets returns of how many sets they are.
func (s *Images) Sets() int {
	if s == nil {
		return 0
	}
	return len(s.sets)
}

// Size returns about how many bytes they take.
func (s *Images) Size() int {
	if s == nil {
		return 0
	}
	return s.size + s.openBytes
}

// Pages implements Pages.
func (s *Images) Pages() int {
	if s == nil {
		return 0
	}
	if len(s.open) > 0 {
		return len(s.packed) + 1
	}
	return len(s.packed)
}

// Page implements Pages.
func (s *Images) Page(n int) (page []Image, err error) {
	if n == len(s.packed) {
		return s.open, nil
	}
	err = UnpackPage(s.packed[n].data, &page)
	return page, err
}

// Each calls f with each image of pages, in order, until it returns an error.
func Each(p Pages, f func(*Image) error) error {
	if p == nil {
		return nil
	}
	for n := range p.Pages() {
		page, err := p.Page(n)
		if err != nil {
			return err
		}
		for i := range page {
			if err := f(&page[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// packers are compressors, each of which takes a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a valid one
	}
	return w
}}

// PackPage returns a value as compressed JSON.
func PackPage(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return Compress(raw)
}

// Compress compresses bytes, fast.
func Compress(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return bytes.Clone(b.Bytes()), nil
}

// UnpackPage reads what PackPage made of a value.
func UnpackPage(page []byte, into any) error {
	raw, err := Decompress(page)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("journal: a page cannot be read: %w", err)
	}
	return nil
}

// Decompress reads what Compress made, at most MaxPage bytes of it.
func Decompress(packed []byte) ([]byte, error) {
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxPage))
}
