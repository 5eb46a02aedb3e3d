package restore

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// seenOf returns a held value as builders take it.
func seenOf(c *descriptor.Column, h account.Held) (any, error) {
	v, err := account.Bound(h)
	if err == nil && (c.IsArray() || c.IsLoose()) { // of any type, or a text that is no JSON
		return shim.Bound{V: v}, nil
	}
	if err == nil {
		v, err = typed(c.Storage, v)
	}
	if err != nil {
		return nil, err
	}
	if c.Form != nil {
		return c.Form.Show(v)
	}
	if raw, ok := v.(json.RawMessage); ok {
		return shim.StoredJSON(raw), nil
	}
	return v, nil
}

// typed returns a value of a storage as drivers read it, from what SQLite holds, or from a text
// of PostgreSQL's.
func typed(s descriptor.Storage, v any) (any, error) {
	text := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	switch s {
	case descriptor.Int:
		return strconv.ParseInt(text, 10, 64)
	case descriptor.Float:
		return strconv.ParseFloat(text, 64)
	case descriptor.Bool:
		return strconv.ParseBool(text)
	case descriptor.Time, descriptor.Day:
		return parseMoment(text)
	case descriptor.JSON:
		return json.RawMessage(text), nil
	case descriptor.Bytes:
		if digits, ok := strings.CutPrefix(text, `\x`); ok {
			if b, err := hex.DecodeString(digits); err == nil {
				return b, nil
			}
		}
		return []byte(text), nil
	case descriptor.Text, descriptor.UUID, descriptor.Decimal, descriptor.Held:
	}
	return text, nil
}

// moments are how databases write times.
var moments = []string{
	sqltext.SQLiteTime, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999-07:00:00",
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.DateOnly,
}

func parseMoment(text string) (time.Time, error) {
	for _, layout := range moments {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(n, 0).UTC(), err
}
