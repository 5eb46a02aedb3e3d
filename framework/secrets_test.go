package framework

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/config"
)

func TestSecretsOfAConfiguration(t *testing.T) {
	c, err := config.Load([]catalog.Setting{
		{Key: "server.secret", Secret: true, Default: []string{}},
		{Key: "server.short", Secret: true, Default: ""},
		{Key: "database", Default: ""},
		{Key: "log.token", Default: ""},
		{Key: "plugins", Open: true},
		{Key: "upstreams", Open: true},
	}, config.Source{Flags: map[string]string{
		"server.secret": "first of this server, second of it", "server.short": "abc", "database": "postgres://app:hunter22@db/app?sslmode=require", "log.token": "no secret",
		"plugins.weather.apiKey": "k-123456", "plugins.weather.maxTokens": "100000", "plugins.weather.city": "Berlin",
		"upstreams.hub.env.HUB_TOKEN": "t-123456", "upstreams.hub.headers.Authorization": "Bearer ${env:HUB}", "upstreams.hub.effects.get_token": "destructive",
	}})
	require.NoError(t, err)
	var s secrets
	s.configure(c)
	require.ElementsMatch(t, []string{"first of this server", "second of it", "hunter22", "k-123456", "t-123456"}, s.known())
	s.holders.Store(&[]catalog.SecretHolder{holder{"test", "a-long-one"}})
	require.Contains(t, s.known(), "a-long-one")
	require.NotContains(t, s.known(), "test", "each such word would be redacted")
}

type holder []string

func (h holder) Secrets() []string { return h }
