package codemode

import (
	"context"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// promptName is the name of the prompt for writing a script.
const promptName = "write-koan-script"

const (
	argTask     = "task"
	argEntities = "entities"
	argLanguage = languageName
)

// prompt returns the prompt with everything that a model needs for one script, in few
// tokens: the rules, the task, and the declarations of the script's entities.
func (k koanFace) prompt() *catalog.Prompt {
	execute := catalog.CodeID(faceKoan, "execute")
	p := &catalog.Prompt{
		Name: promptName, Title: "Write a script",
		Description: "Writes one script for a task, with the declarations of the entities that it is about.",
		Arguments: []catalog.Argument{
			{Name: argTask, Description: "The task of the script, in your words.", Required: true},
			{
				Name: argEntities, Description: "The entities that it is about, with commas between them; all of them without.",
				Complete: completeEntities,
			},
		},
		Shown: func(v *catalog.View) bool { return v.Listed(execute) },
		Render: func(_ context.Context, v *catalog.View, arguments map[string]string) ([]catalog.Message, error) {
			text, err := k.scriptPrompt(v, arguments[argTask], arguments[argEntities], arguments[argLanguage])
			if err != nil {
				return nil, err
			}
			return []catalog.Message{{Content: catalog.Content{Text: text}}}, nil
		},
	}
	if len(k.scripts.config().limits.languages) > 1 {
		p.Arguments = append(p.Arguments, catalog.Argument{
			Name: argLanguage, Description: "The language of the script; " + k.scripts.first() + " without.",
			Complete: func(_ *catalog.View, typed string) []string {
				return catalog.Beginning(k.scripts.languageNames(), typed)
			},
		})
	}
	return p
}

func (k koanFace) scriptPrompt(v *catalog.View, task, entities, in string) (string, error) {
	if strings.TrimSpace(task) == "" {
		return "", fault.Invalid(fault.Detail{Path: "/arguments/" + argTask, Message: "describe what the script should do", Expected: "text"})
	}
	if in == "" {
		in = k.scripts.first()
	}
	if names := k.scripts.languageNames(); !slices.Contains(names, in) {
		return "", fault.Invalid(fault.Detail{Path: "/arguments/" + argLanguage, Message: "this app runs no scripts in " + quoted(in) + fault.DidYouMean(in, names), Expected: strings.Join(names, ", ")})
	}
	chosen, err := chosenEntities(v, entities)
	if err != nil {
		return "", err
	}
	if len(chosen) > 0 {
		v = v.Narrow(func(id catalog.ID) bool { return id.Kind != catalog.KindEntity || chosen[id.Owner] })
	}
	var b strings.Builder
	b.WriteString("Write one script for koan.code.execute, check it with koan.code.validate, and run it; where it changes data, first with dryRun: true, and show what it would change.\n\nTask: ")
	b.WriteString(strings.TrimSpace(task) + "\n\n")
	if in != k.scripts.first() {
		b.WriteString("Send it with language: \"" + in + "\".\n\n")
	}
	b.WriteString(k.describeExecute(v, in, true))
	return b.String(), nil
}

// chosenEntities reads a list of names. It reports every unknown one.
func chosenEntities(v *catalog.View, list string) (map[string]bool, error) {
	chosen := map[string]bool{}
	var wrong []fault.Detail
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "", len(wrong) >= fault.MaxFound:
		case v.Resource(name) == nil:
			wrong = append(wrong, fault.Detail{Path: "/arguments/" + argEntities, Message: "there is no entity \"" + shorten(name) + "\"" + fault.DidYouMean(name, entityNames(v))})
		default:
			chosen[name] = true
		}
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	return chosen, nil
}

// completeEntities completes the last name of a list.
func completeEntities(v *catalog.View, typed string) []string {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], strings.TrimLeft(typed[i+1:], " ")
	}
	out := catalog.Beginning(entityNames(v), last)
	for i := range out {
		out[i] = before + out[i]
	}
	return out
}
