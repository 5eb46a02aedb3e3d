package restapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// fixedRoute is a path of the server, whatever entities it has.
type fixedRoute struct {
	path  string // a pattern of net/http, for every method
	serve func(*Handler, http.ResponseWriter, *http.Request)
	// describe adds the route to the OpenAPI document; nil if entities, actions, functions or files
	// do so with what the caller may use, or if the route is private.
	describe func(*builder)
	// private says that the document does not have the route: it is the console's, or the document
	// itself.
	private bool
}

// Parts of a handler, for on.
var (
	calls     = func(h *Handler) callRoutes { return callRoutes{h.invocations} }
	console   = func(h *Handler) consoleRoutes { return consoleRoutes{h.invocations} }
	documents = func(h *Handler) documentRoutes { return documentRoutes{h.responder} }
	stored    = func(h *Handler) fileRoutes { return fileRoutes{h.responder} }
)

// on serves a route by a part of the handler.
func on[R any](part func(*Handler) R, serve func(R, http.ResponseWriter, *http.Request)) func(*Handler, http.ResponseWriter, *http.Request) {
	return func(h *Handler, w http.ResponseWriter, r *http.Request) { serve(part(h), w, r) }
}

// fixedRoutes returns all of them: what the handler serves, where it is mounted, which paths entities cannot
// have and what the document says of the server follow from them.
func fixedRoutes() []fixedRoute {
	return []fixedRoute{
		{path: "/api/{entity}", serve: on(calls, callRoutes.serveEntities)},
		{path: "/api/{entity}/{id...}", serve: on(calls, callRoutes.serveEntity)}, // one step, which a mux takes for none where it is %2F
		{path: actionsPath + "{name}", serve: on(calls, callRoutes.serveAction)},
		{path: pluginsPath + "{domain}/{function}", serve: on(calls, callRoutes.servePlugin)},
		{path: filesPath, serve: on(stored, fileRoutes.uploadFile)},
		{path: filesPath + "/{id}", serve: on(stored, fileRoutes.serveFile)},
		{path: healthPath, serve: (*Handler).serveHealth, describe: (*builder).health},
		{path: statusPath, serve: (*Handler).serveStatus, describe: (*builder).status},
		{path: eventsPath, serve: (*Handler).serveEvents, describe: (*builder).events},
		{path: statusPath + "/stream", serve: (*Handler).streamStatus, describe: (*builder).statusStream},
		{path: toolsPath + "{name}", serve: on(calls, callRoutes.serveTool), describe: (*builder).anyTool},
		{path: "/openapi.json", serve: on(documents, documentRoutes.serveOpenAPI), private: true},
		{path: docsPath, serve: on(documents, documentRoutes.serveDocs), private: true},
		{path: consolePath + "overview", serve: on(console, consoleRoutes.serveOverview), private: true},
		{path: consolePath + "koan.d.ts", serve: on(console, consoleRoutes.serveDeclarations), private: true},
		{path: consolePath + "checks", serve: on(console, consoleRoutes.serveChecks), private: true},
		{path: consolePath + "runs", serve: on(console, consoleRoutes.serveRuns), private: true},
		{path: consolePath + "runs/{id}", serve: on(console, consoleRoutes.serveRun), private: true},
		{path: consolePath + "runs/{id}/replay", serve: on(console, consoleRoutes.serveReplay), private: true},
		{path: consolePath + "plans", serve: on(console, consoleRoutes.servePlans), private: true},
		{path: consolePath + "plans/{id}", serve: on(console, consoleRoutes.servePlan), private: true},
		{path: consolePath + "plans/{id}/approve", serve: on(console, consoleRoutes.serveApprove), private: true},
		{path: consolePath + "plans/{id}/deny", serve: on(console, consoleRoutes.serveDeny), private: true},
	}
}

// Paths of routes.
const (
	apiPath     = "/api/"
	actionsPath = apiPath + "actions/"
	pluginsPath = apiPath + "plugins/"
	eventsPath  = apiPath + "events"
	filesPath   = apiPath + "files"
	consolePath = apiPath + "console/"
	toolsPath   = "/tools/"
	healthPath  = "/health"
	statusPath  = "/status"
	docsPath    = "/docs"
)

// router returns what serves the routes.
func (h *Handler) router() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range fixedRoutes() {
		mux.HandleFunc(r.path, func(w http.ResponseWriter, req *http.Request) { r.serve(h, w, req) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.reject(w, r, noRoute(r))
	})
	return mux
}

// Paths are the patterns of net/http under which a server has the handler.
func Paths() []string {
	out := map[string]bool{}
	for _, r := range fixedRoutes() {
		first, _, more := strings.Cut(r.path[1:], "/")
		out["/"+first] = true
		if more {
			out["/"+first+"/"] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}
