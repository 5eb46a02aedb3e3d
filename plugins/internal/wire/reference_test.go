package wire

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// example is a message of the reference: its name and its text, and the bytes in the line above.
var example = regexp.MustCompile(`(?m)^((?:[0-9a-f]{2} )*[0-9a-f]{2})\n([A-Z]\w+): (.+)$`)

// The bytes that the reference shows are those of the messages that it names.
func TestBytesOfTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/plugin-protocol.md")
	require.NoError(t, err)
	_, bytes, ok := strings.Cut(string(page), "\n## Bytes\n")
	require.True(t, ok)
	found := example.FindAllStringSubmatch(bytes, -1)
	require.Len(t, found, 8)
	for _, m := range found {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("koan.plugin.v1." + m[2]))
		require.NoError(t, err)
		message := kind.New().Interface()
		require.NoError(t, prototext.Unmarshal([]byte(m[3]), message), m[0])
		raw, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		require.NoError(t, err)
		shown := kind.New().Interface()
		if proto.Unmarshal(raw, shown) != nil || !proto.Equal(message, shown) {
			right, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
			require.NoError(t, err)
			t.Errorf("%s is\n% x", m[2], right)
		}
	}
}

// Python's kit has the descriptor of the file that this package is generated from.
func TestPythonHasTheContract(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../python/koan_plugin/plugin.binpb")
	require.NoError(t, err)
	var files descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(raw, &files))
	require.Len(t, files.GetFile(), 1)
	require.True(t, proto.Equal(protodesc.ToFileDescriptorProto(File_plugin_proto), files.GetFile()[0]), "make generate writes it")
}

// TypeScript's kit has the file itself.
func TestTypeScriptHasTheContract(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("../../protocol/plugin.proto")
	require.NoError(t, err)
	theirs, err := os.ReadFile("../../typescript/plugin.proto")
	require.NoError(t, err)
	require.Equal(t, string(ours), string(theirs), "make generate writes it")
}
