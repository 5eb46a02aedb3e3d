package journal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedactCommand(t *testing.T) {
	for _, c := range []struct{ line, shown string }{
		{"npx|-y|server|--api-key|sk-1", "npx|-y|server|--api-key|[redacted]"},
		{"npx|--api-key=abc|--port|8080", "npx|--api-key=[redacted]|--port|8080"},
		{"docker|run|-e|GITHUB_TOKEN=ghp_x|-e|LOG=debug|image", "docker|run|-e|GITHUB_TOKEN=[redacted]|-e|LOG=debug|image"},
		{"npx|pg|postgresql://bob:PW@host/db?sslmode=require", "npx|pg|postgresql://bob:[redacted]@host/db?sslmode=require"},
		{"npx|pg|postgresql://bob:a/b@c#d@host/db", "npx|pg|postgresql://bob:[redacted]@host/db"},
		{"npx|pg|--dsn=postgresql://bob:PW@host/db?password=x", "npx|pg|--dsn=postgresql://bob:[redacted]@host/db?password=[redacted]"},
		{"npx|mcp-remote|https://example.org/mcp?k=v|--header|Authorization: Bearer abc", "npx|mcp-remote|https://example.org/mcp?k=[redacted]|--header|Authorization: [redacted]"},
		{"npx|mcp-remote|--header|Authorization:Bearer ${AUTH}", "npx|mcp-remote|--header|Authorization:Bearer ${AUTH}"},
		{"npx|mcp-remote|https://mcp.example.org/s/MTIzNDU2abcdefghij7890/mcp", "npx|mcp-remote|https://mcp.example.org/s/[redacted]/mcp"},
		{"npx|x|https://ghp_abc@example.org/x|--token|${env:T}", "npx|x|https://[redacted]@example.org/x|--token|${env:T}"},
		{"sh|-c|API_KEY=abc npx x --token def", "sh|-c|API_KEY=[redacted]"},
		{"sh|-c|npx x --token def", "sh|-c|npx x --token [redacted]"},
		{"sh|-c|a\tb\n--token\tdef", "sh|-c|a\tb\n--token\t[redacted]"},
		{`npx|x|--config|{"apiKey":"abcdef"}`, `npx|x|--config|{"apiKey":"[redacted]"}`},
		{"npx|-y|@modelcontextprotocol/server-filesystem@2025.7.1|/home/ann/files|C:\\Users\\ann", "npx|-y|@modelcontextprotocol/server-filesystem@2025.7.1|/home/ann/files|C:\\Users\\ann"},
		{"node|/srv/index.js|http://127.0.0.1:8080/mcp|stdio", "node|/srv/index.js|http://127.0.0.1:8080/mcp|stdio"},
	} {
		shown, _ := RedactCommand(strings.Split(c.line, "|"))
		require.Equal(t, c.shown, strings.Join(shown, "|"))
	}
	_, secrets := RedactCommand([]string{"x", "--header", "Authorization: Bearer abc", "mysql://u:p%40w@h"})
	require.Equal(t, []string{"Bearer abc", "abc", "p%40w", "p@w"}, secrets)
}
