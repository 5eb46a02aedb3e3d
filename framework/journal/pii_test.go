package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// texts that have one, and ones that look like it.
var personalTexts = map[string]struct{ has, hasNot []string }{
	"email": {
		[]string{
			"ann.lee+x@example.co.uk", "write to <ann@example.org>.", `{"to":"ann@example.org"}`, "jörg@münchen.de", "mailto:a_b@x-y.example.com?subject=x", "ann@example.org, bob",
			"ann@example.org:hunter2", "ann@example.org/home", "https://example.org/ann@example.org/x", "see https://example.org, ann@example.org", "ann@example.org-",
		},
		[]string{"@todo", "koan@1.2.3", "a @ b", "ann@localhost", "x@y", "@scope/package", "name@", "5 @ 3.50", "git@example.org:team/repository.git", "ssh://git@example.org/x", "https://ann@example.org/x"},
	},
	"phone": {
		[]string{
			"+49 30 1234567", "+491711234567", "call +1 (555) 123-4567 now", "+44 20 7946 0958.", "0049 30 1234567", "(030) 123 45 67", "555-123-4567", "030 1234567", "0171/1234567",
			"044 668 18 00", "tel:+41446681800", "Tel. +33 1 23 45 67 89,", "0171-1234567",
			"+491711234567 1706688000", "call +49 30 1234567 2026-01-31", "0049 30 1234567 2026-01-31", "030 1234567 2026-01-31", "06 12 34 56 78", "06.12.34.56.78", "06 12 34 56 78 2026-01-31",
			"/+491711234567/messages", "Tel.+49 30 1234567", `{"phone":"0049 1711234567"}`, "0049(30)1234567", "01 02 03 04 05",
		},
		[]string{
			"order 4711-0815", "20260131", "2026-01-31", "31.01.2026", "01-02-2026", "01-02-2026 10:30", "01/02/2026 12", "3.14159265358979", "0.123456789012", "-12345678901", "1234567890",
			"0001234567", "2026-01-31T08:00:00+01:00", "192.168.178.100", "01a22217-ba15-7098-95a8-78d2564ad391", "12,345,678,901", "1.234.567.890", "978-3-16-148410-0", "4006381333931", "+12345",
			"99 999 999 999", "version 1.20.300", "SKU 12-345-678901", "100-200", "1000 - 2000 - 3000", "12:30:45.123456", "1e+1234567890", "2^53 = 9007199254740992", "(2026) 10 20",
			"00000000-0000-4000-8000-000000000000", "INV-555-123-4567-X", "a+491711234567b", "10 000 000 000", "0.5 mm 123 456 789",
			"0012345678905", `{"code":"0012345678905"}`, "00491711234567", `{"phone":"00491711234567"}`, "01 02 2026 12 30", "01-02-2026 10", "7.+491711234567",
		},
	},
	"iban": {
		[]string{"DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "to GB82 WEST 1234 5698 7654 32.", "CH9300762011623852957", "NO9386011117947", "ES91 2100 0418 4502 0005 1332 EUR 500", "BE68 5390 0754 7034 BIC", "BE68 5390 0754 7034 1234 5678"},
		[]string{"DE89370400440532013001", "GB82WEST12345698765433", "AB12CDEFGHIJKLMNOP", "sha256: DEADBEEF0123456789ABCDEF", "FR00 0000"},
	},
	"ssn": {
		[]string{"123-45-6789", "SSN: 078-05-1120.", `{"ssn":"219-09-9999"}`},
		[]string{"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "123-45-67890", "1123-45-6789", "123456789", "2026-12-3456", "123-45-6789-1"},
	},
}

// Personal data stays unless a kind of it is to be removed; numbers of other kinds stay always.
func TestPersonalData(t *testing.T) {
	none, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	for kind, texts := range personalTexts {
		r, err := journal.NewRedactor(nil)
		require.NoError(t, err)
		require.NoError(t, r.HidePII([]string{kind}))
		for _, text := range texts.has {
			clean, n := r.Text(text)
			require.Equal(t, 1, n, "%s: %s: %s", kind, text, clean)
			require.Contains(t, clean, journal.Redacted, text)
			same, n := none.Text(text)
			require.Zero(t, n, text)
			require.Equal(t, text, same)
		}
		for _, text := range texts.hasNot {
			clean, n := r.Text(text)
			require.Zero(t, n, "%s: %s: %s", kind, text, clean)
		}
	}
	all, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	require.NoError(t, all.HidePII([]string{"all"}))
	for kind, texts := range personalTexts {
		for _, text := range texts.has {
			_, n := all.Text(text)
			require.Positive(t, n, "%s: %s", kind, text)
		}
	}
	raw, n := all.JSON([]byte(`{"mail":"ann@example.org","n":491711234567,"phone":"+49 30 1234567 (home)","at":"2026-01-31"}`))
	require.Equal(t, 2, n)
	require.JSONEq(t, `{"mail":"[redacted]","n":491711234567,"phone":"[redacted] (home)","at":"2026-01-31"}`, string(raw))
	require.ErrorContains(t, all.HidePII([]string{"emails"}), `"emails" is not one of all, email, phone, iban, ssn`)
}

// What follows personal data stays.
func TestPersonalDataEndsWhereItEnds(t *testing.T) {
	all, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	require.NoError(t, all.HidePII([]string{"all"}))
	for text, want := range map[string]string{
		"ES91 2100 0418 4502 0005 1332 EUR 500": "[redacted] EUR 500", "BE68 5390 0754 7034 BIC": "[redacted] BIC", "+491711234567 1706688000": "[redacted] 1706688000",
		"call +49 30 1234567 2026-01-31": "call [redacted] 2026-01-31", "ann@example.org:hunter2": "[redacted]:hunter2", "/+491711234567/messages": "/[redacted]/messages",
		"06 12 34 56 78": "[redacted]", "06.12.34.56.78": "[redacted]", "Tel.+49 30 1234567": "Tel.[redacted]",
	} {
		clean, _ := all.Text(text)
		require.Equal(t, want, clean)
	}
}
