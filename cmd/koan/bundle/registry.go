package bundle

import (
	"regexp"
	"strings"
)

// registrySchema is the version of server.json that is written.
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// description is server.json, as far as a bundle needs it.
type description struct {
	Schema      string      `json:"$schema"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Repository  *source     `json:"repository,omitempty"`
	Packages    []container `json:"packages"`
}

type source struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// container is a package of the registry.
type container struct {
	Type       string                `json:"registryType"`
	Identifier string                `json:"identifier"`
	Version    string                `json:"version"`
	SHA256     string                `json:"fileSha256"`
	Transport  transport             `json:"transport"`
	Env        []environmentVariable `json:"environmentVariables,omitempty"`
}

type transport struct {
	Type string `json:"type"`
}

type environmentVariable struct {
	Name     string `json:"name"`
	Required bool   `json:"isRequired"`
	Secret   bool   `json:"isSecret"`
}

// maxAbout bounds the registry's description, in characters.
const maxAbout = 100

var registryName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// server returns server.json, or what is missing for it.
func (a *app) server(file, sum string) (raw []byte, missing string) {
	name, download := a.Registry, a.Download
	if name == "" && a.repo != "" {
		owner, _, _ := strings.Cut(a.repo, "/")
		name = "io.github." + owner + "/" + a.Name
	}
	if download == "" && a.repo != "" {
		download = "https://github.com/" + a.repo + "/releases/download/v" + a.Version + "/" + file
	}
	switch {
	case name == "":
		return nil, "the module is not from GitHub, so give its name in the registry with --registry-name, and the bundle's address with --download"
	case download == "":
		return nil, "give the address of the bundle with --download"
	}
	d := description{
		Schema: registrySchema, Name: name, Description: a.About, Version: a.Version,
		Packages: []container{{Type: "mcpb", Identifier: download, Version: a.Version, SHA256: sum, Transport: transport{"stdio"}}},
	}
	if r := []rune(d.Description); len(r) > maxAbout {
		d.Description = strings.TrimSpace(string(r[:maxAbout-1])) + "…"
	}
	if a.repo != "" {
		d.Repository = &source{"https://github.com/" + a.repo, "github"}
	}
	for _, name := range a.secrets {
		d.Packages[0].Env = append(d.Packages[0].Env, environmentVariable{name, true, true})
	}
	raw, err := indented(d)
	if err != nil {
		return nil, err.Error()
	}
	return raw, ""
}
