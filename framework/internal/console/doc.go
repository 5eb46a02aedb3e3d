// Package console serves the console, a page for people with a browser: its files, signing in,
// and sessions.
//
// What belongs here: files, links, cookies. Not here: anything that the page does. It
// calls REST and tools as the principal of its session, like any other client.
package console

//go:generate go run ./bundle web
