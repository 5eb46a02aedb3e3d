package caution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	_ "github.com/koan-go/koan/codemode/languages"
)

// Variables that make the test's own program one of the servers outside.
const (
	roleVariable  = "KOAN_TEST_CAUTION_SERVER" // which one
	worldVariable = "KOAN_TEST_CAUTION_WORLD"  // the file with what it has to say
	logVariable   = "KOAN_TEST_CAUTION_LOG"    // the file in which it notes what it was told to do
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := serve(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world is what the servers have to say.
type world struct {
	Mails     []map[string]any    // with id, from, subject, body
	Files     map[string]string   // by path
	Transfers []map[string]any    // with id, payee, account, cents, reference
	Pages     map[string]string   // by url
	Failures  map[string]string   // of pages that fail, by url
	Channels  map[string][]string // messages of the chat, by channel
	Offers    string              // the description of the tool that translates
}

// deed is what a server was told to do.
type deed struct {
	Server string         `json:"server"`
	Tool   string         `json:"tool"`
	Input  map[string]any `json:"input"`
}

// errNotThere is what a server says of something that it does not have.
var errNotThere = errors.New("there is no such thing")

// office is a server's tools, over its world.
type office struct {
	role  string
	world world
	log   *os.File
	mcp   *server.MCPServer
}

func serve(role string) error {
	raw, err := os.ReadFile(os.Getenv(worldVariable))
	if err != nil {
		return err
	}
	o := &office{role: role, mcp: server.NewMCPServer(role, "1", server.WithToolCapabilities(false))}
	if err := json.Unmarshal(raw, &o.world); err != nil {
		return err
	}
	// Several servers append to it, each line in one write.
	if o.log, err = os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	w := o.world
	switch role {
	case "mailbox":
		o.says("list_mails", "Lists the mails in the inbox.", func(map[string]any) (any, error) {
			var out []map[string]any
			for _, m := range w.Mails {
				out = append(out, map[string]any{"id": m["id"], "from": m["from"], "subject": m["subject"]})
			}
			return map[string]any{"mails": out}, nil
		})
		o.says("read_mail", "Reads a mail.", func(in map[string]any) (any, error) {
			i := slices.IndexFunc(w.Mails, func(m map[string]any) bool { return m["id"] == in["id"] })
			if i < 0 {
				return nil, errNotThere
			}
			return w.Mails[i], nil
		}, "id")
		o.does("send_mail", "Sends a mail.", "to", "subject", "body")
	case "drive":
		o.says("list_files", "Lists the paths of all files.", func(map[string]any) (any, error) {
			var out []string
			for path := range w.Files {
				out = append(out, path)
			}
			slices.Sort(out)
			return map[string]any{"paths": out}, nil
		})
		o.says("read_file", "Reads a file.", func(in map[string]any) (any, error) { return lookUp(w.Files, in["path"]) }, "path")
		o.does("write_file", "Writes a file.", "path", "text")
		o.does("share_file", "Lets somebody read a file.", "path", "with")
	case "bank":
		o.says("list_transfers", "Lists the last transfers.", func(map[string]any) (any, error) { return map[string]any{"transfers": w.Transfers}, nil })
		o.does("transfer_money", "Transfers money.", "account", "cents", "reference")
	case "web":
		o.says("fetch_page", "Fetches a page of the web.", func(in map[string]any) (any, error) {
			if err := o.note("fetch_page", in); err != nil {
				return nil, err
			}
			url, _ := in["url"].(string)
			if failure, ok := w.Failures[url]; ok {
				return nil, errors.New(failure)
			}
			return lookUp(w.Pages, url)
		}, "url")
		o.says("translate", w.Offers, func(in map[string]any) (any, error) { return in["text"], nil }, "text")
	case "chat":
		o.says("read_channel", "Reads the messages of a channel.", func(in map[string]any) (any, error) {
			name, _ := in["channel"].(string)
			return map[string]any{"messages": w.Channels[name]}, nil
		}, "channel")
		o.does("post_message", "Posts a message in a channel.", "channel", "text")
	default:
		return fmt.Errorf("there is no server %q", role)
	}
	return server.ServeStdio(o.mcp)
}

func lookUp(texts map[string]string, key any) (any, error) {
	name, _ := key.(string)
	if text, ok := texts[name]; ok {
		return text, nil
	}
	return nil, errNotThere
}

// says adds a tool that only reads. A text is returned as it is, all else as structured content.
func (o *office) says(name, description string, reads func(map[string]any) (any, error), members ...string) {
	o.tool(name, description, true, reads, members)
}

// does adds a tool that has an effect, which is to be noted.
func (o *office) does(name, description string, members ...string) {
	o.tool(name, description, false, func(in map[string]any) (any, error) { return map[string]any{"done": true}, o.note(name, in) }, members)
}

func (o *office) tool(name, description string, reads bool, handle func(map[string]any) (any, error), members []string) {
	options := []mcp.ToolOption{mcp.WithDescription(description), mcp.WithReadOnlyHintAnnotation(reads), mcp.WithDestructiveHintAnnotation(false)}
	for _, m := range members {
		if m == "cents" {
			options = append(options, mcp.WithNumber(m, mcp.Required()))
			continue
		}
		options = append(options, mcp.WithString(m, mcp.Required()))
	}
	o.mcp.AddTool(mcp.NewTool(name, options...), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := handle(r.GetArguments())
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if text, ok := out.(string); ok {
			return mcp.NewToolResultText(text), nil
		}
		return mcp.NewToolResultStructuredOnly(out), nil
	})
}

func (o *office) note(tool string, in map[string]any) error {
	line, err := json.Marshal(deed{o.role, tool, in})
	if err != nil {
		return err
	}
	_, err = o.log.Write(append(line, '\n'))
	return err
}

// readDeeds returns what the servers noted in a file.
func readDeeds(t *testing.T, file string) (out []deed) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var d deed
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}
