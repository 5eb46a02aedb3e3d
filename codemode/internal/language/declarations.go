package language

import (
	"strconv"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
)

// Types writes what a language says of SDK and of the modules of servers: the declarations of types for a View. The
// same View, or one with the same content, gives the same text. Budgets are in bytes.
type Types interface {
	Finds

	// Declarations returns everything that a script of a View can call, as a file that needs no other.
	Declarations(v *catalog.View) string
	// Entity returns the declarations of one entity, as a file that needs no other. ok is false if the View does not
	// have the entity.
	Entity(v *catalog.View, name string) (text string, ok bool)
	// Modules returns the declarations of everything that a script of a View can import, as a file that needs no other.
	Modules(v *catalog.View, app bind.App) string

	// ModuleFunction returns the declaration of one function of a server's module, by its place among the tools.
	ModuleFunction(v *catalog.View, s *bind.Server, tool int) string

	// ModuleNames returns a line for each server of a View: the names of its functions, as many as there is room for.
	ModuleNames(v *catalog.View, app bind.App, budget int) string
}

// Outline writes what the description of koan.code.execute says of SDK, in the names and types of a language. The same
// View, or one with the same content, gives the same text. Budgets are in bytes.
type Outline interface {
	// Overview lists the contents of SDK: a line for each entity and domain, or their names. more are the entities
	// whose names did not fit.
	Overview(v *catalog.View, budget int) (text string, more []string)
	// Lines returns a line for each entity and domain, if there are at most 40 entities: with what the fields hold or,
	// if that is too long, without; else nothing.
	Lines(v *catalog.View, budget int) string
	// Inline returns the declarations of SDK (complete) in a short form or, if that is too long, what Lines returns.
	Inline(v *catalog.View, budget int) (text string, complete bool)
	// ActionLines returns a line for each action that callers could have as a tool and that no list of tools of the
	// View has: its signature in short and the first sentence about it. It returns "" if there are none, and says how
	// many there was no room for.
	ActionLines(v *catalog.View) string
}

// Primer is what a model reads of a language before it writes its first script, in the description of
// koan.code.execute. Texts of several lines end with a line's end.
type Primer struct {
	Outline
	// Title is the language's name in texts.
	Title string
	// Rules say what a script is and how it answers.
	Rules string
	// Beside is the line about the language where scripts are in another one unless they name it.
	Beside string
	// Methods say how entities are called, in place of declarations, which clients may cut off.
	Methods string
	// Example returns a script that runs in any app, however empty its data. It reads a page of an entity; of an app
	// without one, "", what a script has anyway.
	Example func(entity string) string
	// Script and Types are the names of the code fences around scripts and around declarations.
	Script, Types string
}

// Finds declares what a search finds. What its methods return for one View can be pasted together in any combination,
// as far as the language lets a class be declared in parts.
type Finds interface {
	// Block returns the declarations of one entity with its methods. ok is false if the View does not have the entity.
	Block(v *catalog.View, name string) (text string, ok bool)
	// Method returns the signatures of the SDK methods of an entity's operation, with or without the entity's fields.
	// ok is false if scripts cannot call it.
	Method(v *catalog.View, id catalog.ID, fields bool) (text string, ok bool)
	// Function returns the declaration of the function of a plugin or a server. ok is false if scripts cannot call it.
	Function(v *catalog.View, id catalog.ID) (text string, ok bool)
}

// NameLine returns a line of names within a budget in bytes, which ends with how many more there are, and the names
// that did not fit. Without names there is no line.
func NameLine(label string, names []string, budget int) (line string, more []string) {
	if len(names) == 0 {
		return "", nil
	}
	line = label + ":"
	for i, name := range names {
		if end := " … and " + strconv.Itoa(len(names)-i) + " more\n"; len(line)+len(" "+name)+len(end) > budget {
			return line + end, names[i:]
		}
		line += " " + name
	}
	return line + "\n", nil
}
