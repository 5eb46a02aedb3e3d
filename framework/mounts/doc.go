// Package mounts builds a root of files for a process that is to see nothing else of the machine: parts of the
// system, read-only, in a file system in memory.
//
// What belongs here: the mounts of such a root, and how a process moves into it. Not here: which files a
// process needs and what else confines it, which those know who start it.
package mounts
