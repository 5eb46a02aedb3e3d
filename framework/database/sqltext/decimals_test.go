package sqltext

import (
	"database/sql"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/require"
)

func TestDecimalsThatSQLiteKeeps(t *testing.T) {
	for text, want := range map[string]string{ // "" is kept
		"0": "", "-0": "", "+5": "", "1.50": "", "15e-1": "", "9223372036854775807": "", "-9223372036854775808": "", "123456789012345": "", "0.1": "", "0.30000000000000004": "",
		".5": "", "5.": "", "1e300": "",
		"9223372036854775809": "9223372036854776000", "12345678901234567.89": "12345678901234568", "1000000000000000.01": "1000000000000000",
		"0.12345678901234567891": "0.12345678901234568", "9007199254740993.0": "9007199254740992", "1e-400": "0",
	} {
		becomes, kept := KeepsDecimal(text, false)
		require.Equal(t, want == "", kept, text)
		if want != "" {
			require.Equal(t, want, becomes, text)
		}
	}
	_, kept := KeepsDecimal("9007199254740993", true)
	require.False(t, kept, "a column of floats has no such integer")
	for _, text := range []string{"", "x", "1e", "--1", "1.2.3", "1e99999999999"} {
		_, kept := KeepsDecimal(text, false)
		require.False(t, kept, text)
	}
}

// SQLite reads texts as numbers in its own way: what is said to be kept must come back.
func TestKeptDecimalsComeBack(t *testing.T) {
	db, err := sql.Open("sqlite3", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE t (n decimal(10,2), f real)")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		text := strconv.FormatInt(int64(r.Uint64()>>r.UintN(64)), 10)
		switch r.UintN(4) {
		case 0:
			text = strconv.FormatFloat(math.Float64frombits(r.Uint64()>>2|1<<61), 'f', -1, 64)
		case 1:
			text += "." + strconv.FormatUint(r.Uint64()>>r.UintN(64), 10)
		case 2:
			text = strconv.FormatFloat(r.Float64(), 'g', -1, 64)
		}
		if len(text) > 100 || strings.HasPrefix(text, "N") {
			continue
		}
		var n, f any
		require.NoError(t, db.QueryRow("INSERT INTO t VALUES (?,?) RETURNING n, f", text, text).Scan(&n, &f))
		for i, stored := range []any{n, f} {
			if _, kept := KeepsDecimal(text, i == 1); !kept {
				continue
			}
			back := ""
			switch v := stored.(type) {
			case int64:
				back = strconv.FormatInt(v, 10)
			case float64:
				back = strconv.FormatFloat(v, 'f', -1, 64)
			}
			want, _ := parseDecimal(text)
			got, _ := parseDecimal(back)
			require.Equal(t, want, got, "%s came back as %s", text, back)
		}
	}
}

// FuzzPadDecimal: padding changes the number of digits behind the point, and nothing else.
func FuzzPadDecimal(f *testing.F) {
	for _, seed := range []string{"12.5", "-0", ".5", "1.5e3", "1e400", "9.999", "-", "--5", "x"} {
		f.Add(seed, 2)
	}
	f.Fuzz(func(t *testing.T, text string, scale int) {
		scale %= 1000
		padded := PadDecimal(text, scale)
		before, ok := parseDecimal(text)
		if after, _ := parseDecimal(padded); ok && after != before {
			t.Fatalf("%q became %q", text, padded)
		}
		if !ok && padded != text {
			t.Fatalf("%q, which is no decimal, became %q", text, padded)
		}
	})
}
