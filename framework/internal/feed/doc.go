// Package feed has the committed changes of an app as streams, for everybody who follows them:
// those of this process and of others that serve the same data, in the order of positions in each
// set, from any place that is still kept (CONTRACT section 11, `GET /api/events`).
//
// What belongs here: who follows what, from where, and what is kept in memory for them. Not here:
// how a stream is written, which is each surface's own, or who may read a row,
// which is the business of what keeps it (follow.Log).
package feed
