package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/plugins/internal/wire"
)

func sameManifest(a, b *wire.Manifest) bool { return proto.Equal(a, b) }

// adviseOnManifest names what an app takes, and an author may not have meant.
func (c *checker) adviseOnManifest() {
	var advice []string
	if c.manifest.GetVersion() == "" {
		advice = append(advice, "it has no version")
	}
	if c.manifest.GetDescription() == "" {
		advice = append(advice, "it has no description")
	}
	for _, f := range c.manifest.GetFunctions() {
		e := f.GetEffects()
		if f.GetSummary() == "" {
			advice = append(advice, fmt.Sprintf("%s has no summary", f.GetName()))
		}
		if e.GetReadOnly() && e.GetDestructive() {
			advice = append(advice, fmt.Sprintf("%s is read-only and destructive", f.GetName()))
		}
		if e.GetReadOnly() && len(f.GetExample()) == 0 {
			advice = append(advice, fmt.Sprintf("%s has no example, so it is not called here", f.GetName()))
		}
		if isOpen(f.GetInputSchema()) {
			advice = append(advice, fmt.Sprintf("%s takes fields that its schema does not name (additionalProperties)", f.GetName()))
		}
	}
	for _, s := range c.manifest.GetSettings() {
		if s.GetSecret() && s.GetDefaultValue() != "" {
			advice = append(advice, fmt.Sprintf("the secret setting %s has a default, which cannot be secret", s.GetKey()))
		}
	}
	if len(advice) > 0 {
		slices.Sort(advice)
		c.findings[len(c.findings)-1].Hint = "Look again: " + strings.Join(advice, "; ") + "."
	}
}

// isOpen reports whether an object may have fields that its schema does not name.
func isOpen(schema []byte) bool {
	var s struct {
		AdditionalProperties any `json:"additionalProperties"`
	}
	_ = json.Unmarshal(schema, &s) // an app has compiled it
	return s.AdditionalProperties == nil
}

// health asks the process how it is, as an app does again and again.
func (c *checker) health(ctx context.Context) {
	const hint = "Serve grpc.health.v1.Health, and say SERVING of the service plugin: a process that answers nothing for 10 s is replaced."
	ctx, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(c.single.Conn()).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch {
	case err != nil:
		c.fail("health", hint, "%s", err)
	case answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		c.fail("health", hint, "it says %s", answer.GetStatus())
	default:
		c.ok("health", "it says SERVING")
	}
}
