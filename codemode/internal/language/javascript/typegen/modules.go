package typegen

import (
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

type modulesKey struct{}

// Modules implements language.Types (codemode-run-spec section 4.4).
func (TypeScript) Modules(v *catalog.View, app bind.App) string {
	return catalog.Memo(v, modulesKey{}, func() string {
		var b strings.Builder
		b.WriteString("// What a script can import. Every function is asynchronous; SDK does the same without await.\n\n")
		b.WriteString(moduleBasics)
		for _, s := range bind.Servers(v, app) {
			b.WriteString("\n")
			b.WriteString(serverModule(v, s))
		}
		return b.String()
	})
}

// moduleBasics declares the modules that are the same in every app.
const moduleBasics = `declare module "` + wire.ModuleDiscovery + `" {
  export const specVersion: string;
  export interface ServerInfo { serverId: string; serverName: string; capabilities?: string[]; /** Why it cannot be reached now. */ unavailable?: string }
  export interface ServerDescription extends ServerInfo { description?: string; version?: string; toolCount: number; page: number; pageSize: number; tools: ToolDefinition[] }
  export interface ToolSummary { toolName: string; exportName: string; title?: string; description?: string; annotations?: { [hint: string]: boolean }; /** What a server says of its tool, where that does not count. */ declaredAnnotations?: { [hint: string]: boolean } }
  /** The schemas and the declaration come with detail "full". */
  export interface ToolDefinition extends ToolSummary { inputSchema?: any; outputSchema?: any; declaration?: string }
  export interface SearchResults { query: string; results: (ToolDefinition & { serverId: string })[] }
  /** Pages count from 1. describeServer gives 50 tools where nothing is asked for, 10 with detail "full"; listTools gives all. */
  export interface ListToolsOptions { detail?: "name" | "description" | "full"; page?: number; pageSize?: number }
  export interface SearchToolsOptions { detail?: "name" | "description" | "full"; serverId?: string; limit?: number }
  export function listServers(): Promise<ServerInfo[]>;
  export function describeServer(serverId: string, options?: ListToolsOptions): Promise<ServerDescription>;
  export function listTools(serverId: string, options?: ListToolsOptions): Promise<ToolDefinition[]>;
  export function getTool(serverId: string, toolName: string): Promise<ToolDefinition>;
  export function searchTools(query: string, options?: SearchToolsOptions): Promise<SearchResults>;
}
declare module "` + wire.ModuleErrors + `" {
  export class KoanError extends Error {
    readonly code: string;
    readonly hint: string;
    readonly path?: string;
    readonly details?: any;
    readonly retry: "safe" | "fix" | "never";
  }
  export class CodemodeError extends KoanError {
    readonly serverId?: string;
    readonly toolName?: string;
    readonly exportName?: string;
  }
  export class SchemaValidationError extends CodemodeError {
    readonly expected?: string;
    readonly received?: string;
  }
  export class ToolNotFoundError extends CodemodeError {}
  export class ServerNotFoundError extends CodemodeError {}
  export class ToolCallError extends CodemodeError {}
  export class AuthenticationError extends ToolCallError {}
  export class SandboxLimitError extends CodemodeError {}
}
`

// typesName is the namespace of a module's types.
const typesName = "Types"

// serverModule returns the declaration of a server's module. It is made once per View.
func serverModule(v *catalog.View, s *bind.Server) string {
	if s.Any != "" { // any name can be imported of it
		return "/** Its tools are not known yet, it is " + outline.Connecting + ". */\ndeclare module " + quote(wire.ModuleServers+s.ID) + ";\n"
	}
	type key struct{ id string }
	return catalog.Memo(v, key{s.ID}, func() string {
		all := make([]int, len(s.Tools))
		for i := range all {
			all[i] = i
		}
		return module(v, s, all, s.Groups) +
			"\n  export const __meta__: { serverId: string; serverName: string; serverVersion?: string; tools: { toolName: string; exportName: string; description?: string }[] };\n}\n"
	})
}

// ModuleFunction implements language.Types.
func (TypeScript) ModuleFunction(v *catalog.View, s *bind.Server, tool int) string {
	return module(v, s, []int{tool}, nil) + "}\n"
}

// undeclared are names that a module can export, and that no declaration in it can have.
var undeclared = map[string]bool{"arguments": true, "eval": true, "globalThis": true, "undefined": true}

// module declares some of a server's functions, without the last bracket.
func module(v *catalog.View, s *bind.Server, tools []int, groups []wire.Group) string {
	n := &namespace{taken: map[string]bool{}}
	var functions strings.Builder
	for _, i := range tools {
		t, op := s.Tools[i], s.Operations[i]
		base := catalog.Identifier(catalog.Pascal(t.Export))
		in, optional := n.input(op, base+"Input", typesName)
		out := n.output(op, base+"Output", typesName)
		mark := ""
		if optional {
			mark = "?"
		}
		functions.WriteString(comment("  ", op.Summary+hints(op)))
		name, export := t.Export, "export "
		if undeclared[name] {
			name, export = "_$"+name, ""
		}
		functions.WriteString("  " + export + "function " + name + "(input" + mark + ": " + in + "): Promise<" + out + ">;\n")
		if export == "" {
			functions.WriteString("  export { " + name + " as " + t.Export + " };\n")
		}
	}
	for _, g := range groups {
		functions.WriteString("  export const " + g.Name + ": {\n" + groupFunctions(v, n, g, typesName, true) + "  };\n")
	}
	types := ""
	if len(n.types) > 0 {
		types = "  namespace " + typesName + " {\n" + strings.Join(n.types, "") + "  }\n"
	}
	return "declare module " + quote(wire.ModuleServers+s.ID) + " {\n" + types + functions.String()
}

// ModuleNames implements language.Types.
func (TypeScript) ModuleNames(v *catalog.View, app bind.App, budget int) string {
	const more = ", …"
	var b strings.Builder
	servers := bind.Servers(v, app)
	for i, s := range servers {
		line := "- " + wire.ModuleServers + s.ID
		if len(s.Tools) > 0 {
			line += ":"
		}
		if s.Any != "" {
			line += ": " + outline.Connecting
		}
		room := (budget - b.Len()) / (len(servers) - i) // what one leaves the others may use
		for n, t := range s.Tools {
			sep := ", "
			if n == 0 {
				sep = " "
			}
			if len(line)+len(sep)+len(t.Export)+len(more) > room {
				line += more
				break
			}
			line += sep + t.Export
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
