// Package filelock locks files among processes, and among those who opened a file in one process.
//
// What belongs here: the lock of the system, which ends with the process that holds it. Not here:
// what a lock is for.
package filelock
