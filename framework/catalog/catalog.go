// Package catalog holds everything that can be called: operations, the resources they
// work on, documents about them, and immutable snapshots and views of all of these.
//
// What belongs here: descriptions, the contract between providers and the
// core, and derived names. Not here: how a call is made (package run),
// sent (the surfaces) or served (the providers).
package catalog
