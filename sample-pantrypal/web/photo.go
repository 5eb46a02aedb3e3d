package web

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
)

type photo struct {
	ID       string    `json:"id"`
	FileID   *string   `json:"fileId"`
	FileName string    `json:"fileName"`
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Status   string    `json:"status"`
	AddedAt  time.Time `json:"addedAt"`
}

// Title is what a photo is called: by when it was taken, since a camera's name for it says nothing.
func (p photo) Title(d day) string { return d.t("photo.title", d.moment(p.AddedAt)) }

type detection struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Value  string `json:"value"`
	Status string `json:"status"`
	Box    *struct {
		X      int `json:"x"`
		Y      int `json:"y"`
		Width  int `json:"width"`
		Height int `json:"height"`
	} `json:"box"`
	PhotoID string `json:"photoId"`
	Product *struct {
		Name string `json:"name"`
	} `json:"product"`
	PantryItem *lot `json:"pantryItem"`
}

type photosPage struct {
	Photos []photo
	Asked  []detection // of which another photo shows the code, too
	Open   []detection
	Foods  []food
}

// Thing is what a code was taken for.
func (d detection) Thing() string {
	if d.Product != nil {
		return d.Product.Name
	}
	return d.Value
}

// newestPhotos is how many photos the list has.
const newestPhotos = 12

func photos(v *visit) (any, error) {
	p := &photosPage{}
	var err error
	if p.Photos, err = rows[photo](v, "PantryPhoto", query{"sort": "-addedAt"}, newestPhotos); err != nil {
		return nil, err
	}
	if p.Open, err = openCodes(v, query{"status": "open"}); err != nil {
		return nil, err
	}
	if p.Asked, err = rows[detection](v, "Detection", query{"filter": query{"status": "asked"}, "sort": "-id", "with": []string{"product"}}, pageRows); err != nil {
		return nil, err
	}
	if len(p.Open) > 0 {
		p.Foods, err = allFoods(v)
	}
	return p, err
}

// openCodes reads detections, each code once.
func openCodes(v *visit, filter query) ([]detection, error) {
	found, err := rows[detection](v, "Detection", query{"filter": filter, "sort": "-id"}, pageRows)
	var out []detection
	known := map[string]bool{}
	for _, d := range found {
		if !known[d.Value] {
			known[d.Value] = true
			out = append(out, d)
		}
	}
	return out, err
}

// maxFoods bounds the foods that forms offer.
const maxFoods = 2000

func allFoods(v *visit) ([]food, error) {
	return rows[food](v, "Food", query{"fields": []string{"id", "name"}, "sort": "name"}, maxFoods)
}

type photoPage struct {
	Photo  photo
	Codes  []detection
	Foods  []food
	Stale  bool // it has no picture to show
	Title  string
	Units  []string
	Places []string
}

func showPhoto(v *visit) (any, error) {
	one, err := row[photo](v, "PantryPhoto", v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := &photoPage{Photo: one, Stale: one.FileID == nil, Title: one.Title(v.day), Units: units, Places: places}
	if p.Codes, err = rows[detection](v, "Detection", query{"filter": query{"photoId": one.ID}, "sort": "id", "with": []string{"product", "pantryItem"}}, pageRows); err != nil {
		return nil, err
	}
	for _, d := range p.Codes {
		if d.Status == "open" || d.PantryItem != nil {
			p.Foods, err = allFoods(v)
			break
		}
	}
	return p, err
}

// takePhoto keeps a photo and reads it.
func takePhoto(v *visit) (done, error) {
	id, err := keepPhoto(v)
	if err != nil {
		return done{}, err
	}
	var out struct {
		PhotoID string `json:"photoId"`
		Again   bool   `json:"again"`
	}
	run, err := v.action("haul", map[string]any{"file": id}, &out)
	if err != nil {
		return done{}, unreadPhoto(v, err)
	}
	if out.Again {
		run = ""
	}
	return done{"/photo/" + out.PhotoID, "read", run}, nil
}

// unreadPhoto says why a photo could not be read, and what to do about it as the reader says it: a
// photo that is too large is to be taken smaller, and one that is none, as another format.
func unreadPhoto(v *visit, err error) error {
	f := fault.From(err)
	switch f.Code {
	case fault.InvalidPayload, fault.CallTooLarge:
	case fault.ExecutionError: // its hint is for the action's author
		f = f.WithHint("%s", v.day.t("hint.takeAgain"))
	default:
		return err
	}
	why := strings.TrimSuffix(strings.TrimPrefix(f.Message, "haul failed: "), ".")
	code := fault.InvalidPayload
	if f.Code == fault.CallTooLarge {
		code = f.Code
	}
	return failure(v, code, "fault.photo", v.day.says(why)).WithHint("%s", f.Hint).Because(err)
}

// keepPhoto keeps the photo of a form, as it arrives, and returns its file's id.
func keepPhoto(v *visit) (string, error) {
	caller := principal(v.Context())
	store, err := v.site.app.Files(caller, "create")
	if err != nil {
		return "", err
	}
	v.Body = http.MaxBytesReader(v.w, v.Body, store.MaxBytes()+maxForm)
	parts, err := v.MultipartReader()
	if err != nil {
		return "", v.refuse("fault.noPhoto").WithHint("%s", v.day.t("hint.takeOne"))
	}
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return "", v.refuse("fault.noPhoto").WithHint("%s", v.day.t("hint.takeOne"))
		case err != nil:
			return "", v.refuse("fault.halfPhoto").Because(err)
		case part.FormName() != "photo" || part.FileName() == "":
			continue
		}
		kept, err := store.Put(v.Context(), framework.Upload{
			Name: filepath.Base(part.FileName()), Type: part.Header.Get("Content-Type"), Set: defaultSet, Owner: caller.Subject, Body: part,
		})
		var known *fault.Fault
		if err != nil && !errors.As(err, &known) {
			err = v.refuse("fault.halfPhoto").Because(err)
		}
		return kept.ID, err
	}
}

// defaultSet is the household that the pages show.
const defaultSet = "default"

// photoFile serves a photo.
func (s *site) photoFile(w http.ResponseWriter, r *http.Request) {
	v := visitOf(s, w, r)
	one, err := row[photo](v, "PantryPhoto", r.PathValue("id"))
	if err == nil && one.FileID == nil {
		err = failure(v, fault.NotFound, "photo.stale")
	}
	if err != nil {
		s.fail(v, err)
		return
	}
	caller := principal(r.Context())
	store, err := s.app.Files(caller, "get")
	if err != nil {
		s.fail(v, err)
		return
	}
	body, f, err := store.Open(r.Context(), caller, *one.FileID)
	if err != nil {
		s.fail(v, err)
		return
	}
	defer body.Close()
	w.Header().Set("Content-Type", f.Type)
	if !strings.HasPrefix(f.Type, "image/") || strings.Contains(f.Type, "svg") {
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "private, max-age=86400")
	http.ServeContent(w, r, "", time.Time{}, body)
}

// learn says what an unknown code is.
func learn(v *visit) (done, error) {
	in := map[string]any{}
	v.texts(in, "code", "food", "name", "brand", "packageUnit")
	if err := v.numbers(in, "packageAmount"); err != nil {
		return done{}, err
	}
	run, err := v.act("learn-product", in, nil)
	return done{v.back("/photo"), "learned", run}, err
}

// dismiss leaves a code unexplained: it is nothing that a kitchen keeps.
func dismiss(v *visit) (done, error) {
	run, err := v.patch("Detection", v.PathValue("id"), map[string]any{"status": "dismissed"})
	return done{v.back("/photo"), "dismissed", run}, err
}

// twin says whether a code that another photo shows, too, is the same package there.
func twin(v *visit) (done, error) {
	d, err := row[detection](v, "Detection", v.PathValue("id"))
	if err != nil {
		return done{}, err
	}
	answer := v.FormValue("do")
	if answer != "another" && answer != "same" {
		return done{}, v.refuse("fault.noAnswer")
	}
	run, err := v.act("haul", map[string]any{"photoId": d.PhotoID, answer: []string{d.ID}}, nil)
	return done{v.back("/photo/" + d.PhotoID), answer, run}, err
}

// reopen takes back that a code is nothing of the kitchen, or no further package.
func reopen(v *visit) (done, error) {
	d, err := row[detection](v, "Detection", v.PathValue("id"), "product")
	if err != nil {
		return done{}, err
	}
	if d.Status != "dismissed" {
		return done{}, failure(v, fault.Conflict, "fault.takenBack").WithRetry(fault.Fix)
	}
	status := "open"
	if d.Product != nil {
		status = "asked"
	}
	run, err := v.patch("Detection", d.ID, map[string]any{"status": status})
	return done{v.back("/photo/" + d.PhotoID), "changed", run}, err
}

// mistaken says what a lot really is that was put away by its code. What the code stands for stays.
func mistaken(v *visit) (done, error) {
	called := strings.TrimSpace(v.FormValue("really"))
	var out struct {
		Found []struct {
			Food *struct {
				ID   string `json:"id"`
				Name string `json:"name"`
			} `json:"food"`
		} `json:"found"`
	}
	if _, err := v.action("find-food", map[string]any{"names": []string{called}}, &out); err != nil {
		return done{}, err
	}
	if len(out.Found) == 0 || out.Found[0].Food == nil {
		return done{}, v.refuse("fault.noFood", v.day.quoted(called)).WithPath("/really").WithHint("%s", v.day.t("hint.chooseFood"))
	}
	run, err := v.patch("PantryItem", v.PathValue("id"), map[string]any{"name": capital(called), "foodId": out.Found[0].Food.ID, "productId": nil, "reason": "corrected"})
	if fault.CodeOf(err) == fault.Conflict {
		err = v.changedMeanwhile(v.PathValue("id"), err)
	}
	return done{v.back("/photo"), "changed", run}, err
}
