// Package replay keeps what a script asked of its host and got, and executes the
// script again on that.
//
// A script sees the world through wire.Host alone, and the worker does the same
// with the same answers: clock, random numbers and the order in which parallel calls
// end come from the host too. So the conversation between the two, in order, is all
// that a replay needs: no database, no plugin, no clock.
//
// What belongs here: the recorder, the player, the form that is kept, and the
// comparison. What must never: where it is kept, or a catalog.
package replay
