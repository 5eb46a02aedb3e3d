// Package ask lets the server ask the client that made a call: its user (elicitation),
// its model (sampling), or for its roots. Surfaces put a Client into the context of a
// call; handlers, prompts and the run use it.
//
//	answer, err := ask.Elicit(ctx, "confirm", "Really send 300 letters?", schema)
//	if err != nil {
//		return nil, err
//	}
//
// A client of the older protocol versions is asked while the call waits. One of
// 2026-07-28 gets the questions as the result of its call, and calls again with the
// answers: then Ask returns the fault input_required, which ends the call, and the
// handler is called again, where Ask returns the answer at once. So a handler must return
// the error unchanged, use the same key each time, and ask before it does anything that
// cannot be undone.
//
// What belongs here: questions, their answers, and the validation of both. Not here:
// how a question is sent, and what it is about.
package ask
