// Package wire is the contract between an app and its plugins: the generated
// messages of plugin.proto, and what both ends need to agree on before the
// first of them.
//
// What belongs here: the protocol and its limits. Not here: how a plugin
// is found and kept alive (package plugins) or written (package kit).
package wire

// The generators are protoc 3.21 or later, protoc-gen-go and protoc-gen-go-grpc.
//go:generate ../../../.ci/protoc

import (
	"context"
	"math"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ContractVersion is the version of plugin.proto that this build speaks. It is
// negotiated in the handshake: an app rejects a plugin without a common version before the
// first message.
const ContractVersion = 1

// MaxCallBytes bounds the JSON of one call's output, MaxMediaBytes that of an output in which files are to stand for
// media, MaxInputBytes that of an input, which may have files in base64. What is longer is call_too_large.
const (
	MaxCallBytes  = 4 << 20
	MaxMediaBytes = 24 << 20
	MaxInputBytes = 24 << 20
)

// Bounds of a manifest: all of it, and one schema.
const (
	MaxFunctions     = 1000
	MaxManifestBytes = 1 << 20
	MaxSchemaBytes   = 256 << 10
)

// MaxQuestions is how many questions of a call may be open at a time, MaxNeeds how many patterns a
// manifest may ask for, and MaxChunkBytes bounds what is read from or written to a file at once.
const (
	MaxQuestions  = 16
	MaxNeeds      = 100
	MaxChunkBytes = 1 << 20
)

// PartBytes is how many bytes of a long output are sent in one part: the host counts an
// output before it reads it, and each part fits a small buffer of gRPC's.
const PartBytes = 30 << 10

// MaxMessageBytes bounds a whole message: a call and its metadata.
const MaxMessageBytes = MaxInputBytes + 1<<16

// Handshake lets an executable find out whether it was started by an app.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "KOAN_PLUGIN",
	MagicCookieValue: "koan.plugin.v1",
}

// Service is the name under which go-plugin dispenses the Plugin service.
const Service = "koan.plugin.v1.Plugin"

// Plugins returns go-plugin's map from contract version to service. Server is nil
// on the host's side.
func Plugins(server PluginServer) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ContractVersion: {Service: &grpcPlugin{server: server}}}
}

// ServerOptions are those of a plugin's gRPC server.
func ServerOptions(extra []grpc.ServerOption) []grpc.ServerOption {
	return append(extra, grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(math.MaxInt32))
}

// Connection is what the host dispenses: the service and what it runs over.
type Connection struct {
	PluginClient
	Conn *grpc.ClientConn
}

// grpcPlugin registers the service with go-plugin.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server PluginServer
}

var _ goplugin.GRPCPlugin = (*grpcPlugin)(nil)

func (g *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	RegisterPluginServer(s, g.server)
	return nil
}

func (g *grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return &Connection{PluginClient: NewPluginClient(c), Conn: c}, nil
}
