package files

import (
	"mime"
	"net/http"
	"strings"
)

// sniffed is how many bytes the content type is told from.
const sniffed = 512

// mediaType returns the type of a file: what its first bytes say. Who sends it says more only
// of text, and of what the bytes leave open.
func mediaType(head []byte, said string) string {
	found := http.DetectContentType(head)
	base, _, _ := strings.Cut(found, ";")
	claim, parameters, err := mime.ParseMediaType(said)
	if err != nil || !strings.Contains(claim, "/") {
		return found
	}
	switch {
	case base == "text/plain" && isText(claim), base == "application/octet-stream" && !isActive(claim) && !isText(claim), base == "application/zip" && isArchive(claim):
		return mime.FormatMediaType(claim, parameters)
	case base == "text/xml" && claim == "image/svg+xml":
		return claim
	}
	return found
}

// isText reports whether a type is one of texts that no program executes.
func isText(t string) bool {
	return strings.HasPrefix(t, "text/") && !isActive(t) || t == "application/json" || t == "application/yaml" || strings.HasSuffix(t, "+json")
}

// IsActive reports whether browsers execute what has this media type.
func IsActive(of string) bool {
	base, _, err := mime.ParseMediaType(of)
	return err != nil || isActive(base)
}

func isActive(t string) bool {
	switch t {
	case "text/html", "text/xml", "application/xhtml+xml", "application/xml", "image/svg+xml", "text/javascript", "application/javascript", "text/css", "application/pdf":
		return true
	}
	return strings.HasSuffix(t, "+xml")
}

// isArchive reports whether a type is a format that is made of a zip file.
func isArchive(t string) bool {
	return strings.HasPrefix(t, "application/vnd.") || t == "application/epub+zip" || t == "application/java-archive"
}
