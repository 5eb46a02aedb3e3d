// Package catalog holds what can be called: operations, the resources they work
// on, documents about them, and the immutable snapshots and views through which
// everybody sees them.
//
// What belongs here: descriptions, the contract between providers and the
// kernel, and derived names. What must never: how a call is made (package run),
// sent (the surfaces) or served (the providers).
package catalog
