// Package actions has PantryPal's workflows: scripts that agents, pages and the command
// line share.
//
// What belongs here: one file for each action. Not here: arithmetic on amounts
// (package kitchen), or a rule that every change has to keep (package rules).
package actions

import "embed"

// Files are the actions, for framework.App.
//
//go:embed *.js
var Files embed.FS
