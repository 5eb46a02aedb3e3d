// Package exposure decides which tools a client is shown.
//
// What belongs here: the modes and the pure decision table of DESIGN section 3.
// Not here: a catalog, a client or a protocol. Everything here is a
// function of its arguments.
package exposure

import "fmt"

// Mode says how operations are offered.
type Mode string

const (
	Auto  Mode = "auto"  // decided per client from what it declares
	Code  Mode = "code"  // code tools only
	Tools Mode = "tools" // one tool per operation, no code
	Full  Mode = "full"  // both
)

// Parse reads a mode. The empty string is Auto.
func Parse(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Auto, nil
	case Auto, Code, Tools, Full:
		return m, nil
	}
	return "", fmt.Errorf("unknown exposure mode %q: want auto, code, tools or full", s)
}

// Client is what a client declares about code mode.
type Client int

const (
	Unknown      Client = iota // declares nothing
	Understands                // declares code mode
	LegacyClient               // declares {"codeMode": false}
)

// Server resolves the server's mode: explicit configuration, else the first
// package default that is not auto, else auto. An empty Mode counts as auto.
func Server(configured Mode, packageDefaults ...Mode) Mode {
	for _, m := range append([]Mode{configured}, packageDefaults...) {
		if m != Auto && m != "" {
			return m
		}
	}
	return Auto
}

// ForClient resolves a server mode for one client. The result is never Auto.
func ForClient(server Mode, c Client) Mode {
	if server != Auto && server != "" {
		return server
	}
	switch c {
	case Understands:
		return Code
	case LegacyClient:
		return Tools
	case Unknown:
	}
	return Full
}

// Offer is where one thing is reachable.
type Offer struct {
	Listed   bool // as a tool of its own
	Scripted bool // in the SDK, the types and validation
}

// CodeTools reports whether the code tools are listed. They follow the server's
// resolved mode only.
func CodeTools(mode Mode) bool { return mode == Code || mode == Full }

// Entity decides for one entity (or plugin): mode is the resolved mode for this
// client, annotation the entity's own or "", packageDefault that of its package
// or "", serverIsAuto whether the server's mode was left to negotiation. A
// package default counts for its entities where the server is auto.
func Entity(mode, annotation, packageDefault Mode, serverIsAuto bool) Offer {
	own := annotation
	if own == "" || own == Auto {
		own = ""
		if serverIsAuto && packageDefault != Auto {
			own = packageDefault
		}
	}
	code := CodeTools(mode)
	switch own {
	case Tools:
		return Offer{Listed: true}
	case Full:
		return Offer{Listed: true, Scripted: code}
	case Code:
		return Offer{Scripted: code}
	case Auto, "":
	}
	return Offer{Listed: mode == Tools || mode == Full, Scripted: code}
}

// Unreachable reports whether an entity with this annotation can be reached
// nowhere under the server's mode, which is worth a warning at boot.
func Unreachable(server, annotation Mode) bool {
	return annotation == Code && server == Tools
}
