// Package ask lets the server's side ask the client that made a call: its user
// (elicitation), its model (sampling), or for its roots. Surfaces put a Client into
// the context of a call; handlers, prompts and the run use it.
//
//	answer, err := ask.Elicit(ctx, "confirm", "Really send 300 letters?", schema)
//	if err != nil {
//		return nil, err
//	}
//
// A client of the older protocol versions is asked while the call waits. One of
// 2026-07-28 gets the questions as the result of its call, and calls again with the
// answers: then Ask returns the fault input_required, which ends the call, and the
// handler is called again, where Ask returns the answer at once. So whoever asks
// returns the error as it is, asks under the same key each time, and asks before it
// does what cannot be taken back.
//
// What belongs here: questions, their answers, and what is wrong with them. What
// must never: how a question travels, and what anybody asks about.
package ask
