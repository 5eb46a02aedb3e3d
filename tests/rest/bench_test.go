package rest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// todo is a row as the app returns it.
type todo struct {
	ID             string          `json:"id"`
	Title          string          `json:"title"`
	Completed      bool            `json:"completed"`
	Priority       string          `json:"priority"`
	DueDate        *time.Time      `json:"dueDate"`
	Notes          *string         `json:"notes"`
	Tags           json.RawMessage `json:"tags"`
	Effort         *float64        `json:"effort"`
	Views          int64           `json:"views"`
	Version        int             `json:"version"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	AssignedUserID *string         `json:"assignedUserId"`
}

const todoColumns = `id, title, completed, priority, due_date, notes, tags, effort, views, version, created_at, updated_at, assigned_user_id`

func scanTodo(scan func(...any) error) (t todo, err error) {
	var tags []byte
	err = scan(&t.ID, &t.Title, &t.Completed, &t.Priority, &t.DueDate, &t.Notes, &tags, &t.Effort, &t.Views, &t.Version, &t.CreatedAt, &t.UpdatedAt, &t.AssignedUserID)
	if t.Tags = tags; tags == nil {
		t.Tags = json.RawMessage("null")
	}
	return t, err
}

// rawServer reads the same rows with net/http and prepared statements alone.
func rawServer(b *testing.B, file string) *httptest.Server {
	db, err := sql.Open("sqlite3", "file:"+file)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	byID, err := db.Prepare(`SELECT ` + todoColumns + ` FROM todos WHERE id = ?`)
	require.NoError(b, err)
	page, err := db.Prepare(`SELECT ` + todoColumns + ` FROM todos ORDER BY id LIMIT 21`)
	require.NoError(b, err)
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, v any, err error) {
		text, bad := json.Marshal(v)
		if err != nil || bad != nil {
			http.Error(w, "failed", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
	mux.HandleFunc("GET /api/todo/{id}", func(w http.ResponseWriter, r *http.Request) {
		t, err := scanTodo(byID.QueryRowContext(r.Context(), r.PathValue("id")).Scan)
		send(w, t, err)
	})
	mux.HandleFunc("GET /api/todo", func(w http.ResponseWriter, r *http.Request) {
		rows, err := page.QueryContext(r.Context())
		if err != nil {
			send(w, nil, err)
			return
		}
		defer rows.Close()
		var items []todo
		for rows.Next() {
			t, err := scanTodo(rows.Scan)
			if err != nil {
				send(w, nil, err)
				return
			}
			items = append(items, t)
		}
		send(w, map[string]any{"items": items[:20], "page": 1, "pageSize": 20}, rows.Err())
	})
	s := httptest.NewServer(mux)
	b.Cleanup(s.Close)
	return s
}

// rounds is how often the app and what it is compared with take turns: what else the machine does
// hits both, and the median of the ratios leaves out the rounds in which it did not.
const rounds = 20

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// load sends n requests from some clients at once, and returns the median and how many were
// answered in a second.
func load(b *testing.B, n, clients int, url string) (p50 time.Duration, perSecond float64) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	ask := func() time.Duration {
		began := time.Now()
		resp, err := client.Get(url)
		if err != nil {
			b.Error(err)
			return 0
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Error(resp.Status, err)
		}
		return time.Since(began)
	}
	for range 20 {
		ask()
	}
	took := make([]time.Duration, n)
	var next atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				took[i] = ask()
			}
		})
	}
	group.Wait()
	perSecond = float64(n) / time.Since(began).Seconds()
	slices.Sort(took)
	return took[len(took)/2], perSecond
}

// BenchmarkREST measures reads over REST against the same rows read by net/http and prepared
// statements, in the same run. The app keeps its journal.
func BenchmarkREST(b *testing.B) {
	dir := b.TempDir()
	kit := koantest.NewConfined(b, fixtureApp(), koantest.Setting{Key: "database", Value: "sqlite://" + dir})
	s := mount(b, kit, framework.HTTPOptions{})
	for i := range 100 {
		require.Equal(b, http.StatusCreated, s.do("PUT", fmt.Sprintf("/api/todo/t%03d", i), `{"title":"Buy milk"}`).status)
	}
	raw := rawServer(b, filepath.Join(dir, "default.db"))
	for _, c := range []struct{ name, path string }{{"get", "/api/todo/t007"}, {"page", "/api/todo?pageSize=20&count=false"}} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", c.name, clients), func(b *testing.B) {
				var p50, perSecond, ratios []float64
				for range rounds {
					ours, many := load(b, max(1, b.N/rounds), clients, s.url+c.path)
					theirs, manyRaw := load(b, max(1, b.N/rounds), clients, raw.URL+c.path)
					p50, perSecond = append(p50, float64(ours.Microseconds())), append(perSecond, many)
					if clients == 1 {
						ratios = append(ratios, float64(ours)/float64(theirs))
					} else {
						ratios = append(ratios, manyRaw/many)
					}
				}
				b.ReportMetric(median(p50), "p50-µs")
				b.ReportMetric(median(perSecond), "requests/s")
				b.ReportMetric(median(ratios), "ratio")
			})
		}
	}
}
