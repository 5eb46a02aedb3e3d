// Package run carries out calls. Every call is part of a Run; a run is one or more attempts over a
// tape; an attempt holds the transactions that its calls joined; a receipt in the same transaction
// proves what a run committed.
//
// The path of every call:
//
//	authorise -> validate input -> quota -> provider handler -> tape -> trace -> journal
//
// The phases of every run (phases.go):
//
//	open -> resume -> claim -> begin -> attempts { calls, judge, commit } -> release -> end
//
// What belongs here: the life cycle of runs and attempts, and the phases in which participants are
// asked. Its foundations are separate packages: the contract with stores (store), nondeterminism
// (tape), observers (observe), and in internal the course of an attempt and the progress of a run,
// the common end of transactions, calls that outlive an attempt, the bytes that the host may hold,
// the check of outputs against schemas, and the faults of calls. Not here: SQL, JavaScript,
// MCP, or anything else that only one provider or surface knows; nor what only one participant knows
// (idempotency keys, approvals, replays, the journal): participants are packages below this one.
package run
