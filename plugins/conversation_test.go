package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// askerServer is a plugin that is not made with the kit, and asks what a plugin should not.
type askerServer struct{ wire.UnimplementedPluginServer }

func serveAsker() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake, VersionedPlugins: wire.Plugins(askerServer{}),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(wire.ServerOptions(o)...) },
	})
}

func (askerServer) Describe(context.Context, *wire.DescribeRequest) (*wire.Manifest, error) {
	object := []byte(`{"type":"object"}`)
	return &wire.Manifest{
		ContractVersion: wire.ContractVersion, Domain: "asker", Version: "1", Converses: true, Needs: []string{"plugin::asker.ask"},
		Functions: []*wire.Function{{Name: "ask", InputSchema: object, OutputSchema: object, Effects: &wire.Effects{ReadOnly: true}}},
	}, nil
}

func (askerServer) Configure(context.Context, *wire.ConfigureRequest) (*wire.ConfigureResponse, error) {
	return &wire.ConfigureResponse{}, nil
}

type askerStream = grpc.BidiStreamingServer[wire.HostMessage, wire.CallEvent]

func ask(stream askerStream, q *wire.Question) error {
	return stream.Send(&wire.CallEvent{Event: &wire.CallEvent_Question{Question: q}})
}

func finish(stream askerStream, text string) error {
	out, err := json.Marshal(map[string]any{"text": text, "pid": os.Getpid()})
	if err != nil {
		return err
	}
	return stream.Send(&wire.CallEvent{Event: &wire.CallEvent_Output{Output: out}})
}

func invocation(id uint64, input string) *wire.Question {
	return &wire.Question{Id: id, Kind: &wire.Question_Invoke{Invoke: &wire.Invoke{Operation: "plugin::asker.ask", Input: []byte(input)}}}
}

// heard returns the next answer as text.
func heard(stream askerStream) (string, error) {
	m, err := stream.Recv()
	if err != nil {
		return "", err
	}
	a := m.GetAnswer()
	return fmt.Sprintf("%d %s%s", a.GetId(), a.GetOutput(), a.GetFault()), nil
}

func (askerServer) Converse(stream askerStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	var in echoIn
	if err := json.Unmarshal(first.GetCall().GetInput(), &in); err != nil {
		return err
	}
	switch in.Do {
	case "":
		return finish(stream, in.Text)
	case "wait":
		time.Sleep(time.Minute)
	case "unknown":
		err = ask(stream, &wire.Question{Id: math.MaxUint64})
	case "twice":
		err = ask(stream, invocation(7, `{"do":"wait"}`))
		if err == nil {
			err = ask(stream, invocation(7, `{}`))
		}
	case "many", "flood":
		input := map[string]string{"many": `{"do":"wait"}`, "flood": `{"text":"` + strings.Repeat("x", 64<<10) + `"}`}[in.Do]
		for id := uint64(1); err == nil && id < 1000; id++ { // and reads no answer
			err = ask(stream, invocation(id, input))
		}
	case "garbage":
		err = ask(stream, &wire.Question{Kind: &wire.Question_Invoke{Invoke: &wire.Invoke{Operation: strings.Repeat("\x00", 1000), Input: []byte("{{{")}}})
	case "not an object":
		err = ask(stream, invocation(0, `[1]`))
	case "leave":
		if err = ask(stream, invocation(1, `{"do":"wait"}`)); err == nil {
			err = finish(stream, "gone")
		}
	case "after the end":
		if err = finish(stream, "over"); err == nil {
			err = ask(stream, invocation(1, `{}`))
		}
	case "die":
		_ = ask(stream, invocation(1, `{"do":"wait"}`))
		os.Exit(9)
	}
	if err != nil {
		return err
	}
	text, err := heard(stream)
	if err != nil {
		return err
	}
	return finish(stream, text)
}

// Whatever a plugin asks, it is answered, or its call fails with what it did wrong; the process and other calls go on.
func TestStrangeQuestions(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "asker"), values{"plugins.asker.grants": "plugin::asker.ask"})
	first, err := b.invoke(t.Context(), "asker", "ask", map[string]any{"text": "hi"})
	require.NoError(t, err)
	require.Equal(t, "hi", first.Text)
	for _, c := range []struct{ do, answer, failure string }{
		{do: "unknown", answer: `18446744073709551615 {"code":"capability_unsupported"`},
		{do: "twice", failure: "it asked the app two things as question 7"},
		{do: "many", failure: "it asked the app more than it may at a time"},
		{do: "flood", failure: "it asked the app more than it may at a time"},
		{do: "garbage", answer: `0 {"code":"invalid_code_mode_id"`},
		{do: "not an object", answer: `0 {"code":"invalid_payload"`},
		{do: "leave", answer: "gone"},
		{do: "after the end", answer: "over"},
	} {
		t.Run(c.do, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // instead of the minute that it waits for
			defer cancel()
			out, err := b.invoke(ctx, "asker", "ask", map[string]any{"do": c.do})
			require.NoError(t, ctx.Err())
			if c.failure != "" {
				require.Equal(t, fault.ExecutionError, fault.CodeOf(err), "%v", err)
				require.Contains(t, err.Error(), c.failure)
			} else {
				require.NoError(t, err)
				require.Contains(t, out.Text, c.answer)
			}
			again, err := b.invoke(ctx, "asker", "ask", map[string]any{"text": "still there"})
			require.NoError(t, err)
			require.Equal(t, first.Pid, again.Pid)
		})
	}
}

// A caller that leaves takes what the plugin waits for with it, and so does the plugin's death.
func TestConversationThatIsCutOff(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "asker"), values{"plugins.asker.grants": "plugin::asker.ask"})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.invoke(ctx, "asker", "ask", map[string]any{"do": "wait"})
	require.Equal(t, fault.Timeout, fault.CodeOf(err))

	_, err = b.invoke(t.Context(), "asker", "ask", map[string]any{"do": "die"})
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	require.Contains(t, err.Error(), "died in the middle of the call")
	_, err = b.invoke(t.Context(), "asker", "ask", map[string]any{})
	require.NoError(t, err)
}
