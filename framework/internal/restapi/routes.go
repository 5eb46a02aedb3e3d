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

// fixedRoutes returns all of them: what the handler serves, where it is mounted, which paths entities cannot
// have and what the document says of the server follow from them.
func fixedRoutes() []fixedRoute {
	return []fixedRoute{
		{path: "/api/{entity}", serve: (*Handler).serveEntities},
		{path: "/api/{entity}/{id...}", serve: (*Handler).serveEntity}, // one step, which a mux takes for none where it is %2F
		{path: actionsPath + "{name}", serve: (*Handler).serveAction},
		{path: pluginsPath + "{domain}/{function}", serve: (*Handler).servePlugin},
		{path: filesPath, serve: (*Handler).uploadFile},
		{path: filesPath + "/{id}", serve: (*Handler).serveFile},
		{path: healthPath, serve: (*Handler).serveHealth, describe: (*builder).health},
		{path: statusPath, serve: (*Handler).serveStatus, describe: (*builder).status},
		{path: eventsPath, serve: (*Handler).serveEvents, describe: (*builder).events},
		{path: statusPath + "/stream", serve: (*Handler).streamStatus, describe: (*builder).statusStream},
		{path: toolsPath + "{name}", serve: (*Handler).serveTool, describe: (*builder).anyTool},
		{path: "/openapi.json", serve: (*Handler).serveOpenAPI, private: true},
		{path: docsPath, serve: (*Handler).serveDocs, private: true},
		{path: consolePath + "overview", serve: (*Handler).serveOverview, private: true},
		{path: consolePath + "koan.d.ts", serve: (*Handler).serveDeclarations, private: true},
		{path: consolePath + "checks", serve: (*Handler).serveChecks, private: true},
		{path: consolePath + "runs", serve: (*Handler).serveRuns, private: true},
		{path: consolePath + "runs/{id}", serve: (*Handler).serveRun, private: true},
		{path: consolePath + "runs/{id}/replay", serve: (*Handler).serveReplay, private: true},
		{path: consolePath + "plans", serve: (*Handler).servePlans, private: true},
		{path: consolePath + "plans/{id}", serve: (*Handler).servePlan, private: true},
		{path: consolePath + "plans/{id}/approve", serve: (*Handler).serveApprove, private: true},
		{path: consolePath + "plans/{id}/deny", serve: (*Handler).serveDeny, private: true},
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
