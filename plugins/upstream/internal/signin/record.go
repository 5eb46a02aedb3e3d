package signin

import (
	"fmt"
	"time"
)

// Record is a sign-in as it is kept, sealed. It holds secrets, so it prints as a summary.
type Record struct {
	ID         string    `json:"id"` // another one for each sign-in
	Upstream   string    `json:"upstream"`
	User       string    `json:"user"`
	URL        string    `json:"url"` // the only one to which the tokens are sent
	Resource   string    `json:"resource"`
	Issuer     string    `json:"issuer"`
	TokenURL   string    `json:"tokenUrl"`
	RevokeURL  string    `json:"revokeUrl,omitempty"`
	Client     Client    `json:"client"`
	Access     string    `json:"access"`
	Refresh    string    `json:"refresh,omitempty"`
	Scopes     []string  `json:"scopes,omitempty"`
	SignedInAt time.Time `json:"signedInAt"`
	ObtainedAt time.Time `json:"obtainedAt"`
	Expiry     time.Time `json:"expiry,omitzero"` // of the access token; zero is unknown
	Ended      string    `json:"ended,omitempty"` // why it cannot be refreshed any more
}

// String implements fmt.Stringer.
func (r *Record) String() string {
	return fmt.Sprintf("the sign-in of %s to %s", r.User, r.Upstream)
}

// GoString implements fmt.GoStringer.
func (r *Record) GoString() string { return r.String() }

func (r *Record) expired(now time.Time) bool { return !r.Expiry.IsZero() && !now.Before(r.Expiry) }

// stale reports whether the access token is to be refreshed now: a minute before its end, or
// a tenth of its life for short ones.
func (r *Record) stale(now time.Time) bool {
	if r.Expiry.IsZero() {
		return false
	}
	return !now.Before(r.Expiry.Add(-min(time.Minute, r.Expiry.Sub(r.ObtainedAt)/10)))
}

// Over returns why the sign-in is of no use any more, "" if it is.
func (r *Record) Over(now time.Time) string {
	switch {
	case r.Ended != "":
		return r.Ended
	case r.expired(now) && r.Refresh == "":
		return "it expired at " + r.Expiry.UTC().Format(time.RFC3339)
	}
	return ""
}
