// Package recording records the conversation of a script with its host, and executes the
// script again from the recording.
//
// A script sees the world through wire.Host only, and with the same answers the worker
// does the same: clock, random numbers and the order in which parallel calls end come from
// the host too. So the conversation between the two, in order, is all that a replay needs:
// no database, no plugin, no clock.
//
// What belongs here: the recorder, the player, the format of a recording, and the
// comparison. Not here: where recordings are stored, or a catalog.
package recording
