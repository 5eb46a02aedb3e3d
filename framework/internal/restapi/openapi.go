package restapi

import "net/http"

func (h *Handler) serveOpenAPI(w http.ResponseWriter, r *http.Request) {}
func (h *Handler) serveDocs(w http.ResponseWriter, r *http.Request)    {}
