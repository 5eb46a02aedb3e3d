// Package run carries out calls. Every call is part of a Run; a run is one or
// more attempts over a tape; an attempt holds the transactions that its calls
// joined; what a run committed is proven by a receipt in the same transaction.
//
// The one path of a call, whoever makes it:
//
//	authorise -> validate input -> quota -> provider handler -> tape -> trace -> journal
//
// One run, whoever takes part in it (phases.go):
//
//	open -> resume -> claim -> begin -> attempts { calls, judge, commit } -> release -> end
//
// What belongs here: the life cycle of runs and attempts, and the phases that participants are
// asked in. What it stands on has packages of its own: the contract with stores (store), what is
// not deterministic (tape), how runs are watched (observe), and below internal how transactions
// end together, how calls outlive an attempt, what the host may hold, whether outputs fit their
// schemas, and which faults calls end in. What must never: SQL, JavaScript, MCP, or anything
// else that only one provider or surface knows; nor what only one participant knows, which
// have packages of their own below this one: idempotency keys, approvals, replays, the journal.
package run
