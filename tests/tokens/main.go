// Command tokens prints what an app costs a model's context, in tokens of
// o200k_base: the definitions that a client must read in each mode, and whole
// conversations with PantryPal, as tool calls and as scripts. With -write it keeps
// the tables in docs/reference/tokens.md.
//
// What belongs here: counting, with a real tokenizer, the output of the real app. Not here:
// a figure that was not counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tiktoken-go/tokenizer"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

func main() {
	dir := flag.String("plugins", "bin/plugins", "where PantryPal's plugins are")
	sample := flag.String("sample", "sample-pantrypal", "PantryPal's folder, with scripts and a photo")
	write := flag.String("write", "", "the page to write the tables to")
	flag.Parse()
	if err := count(*dir, *sample, *write); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

// count counts, prints, and writes the page where one is named.
func count(plugins, sample, write string) error {
	c, err := newCounter()
	if err != nil {
		return err
	}
	text, err := report(c, plugins, sample)
	if err != nil {
		return err
	}
	fmt.Print(text)
	if write == "" {
		return nil
	}
	return os.WriteFile(write, []byte(text), 0o644)
}

// report makes the page.
func report(c counter, plugins, sample string) (string, error) {
	app, stop, err := pantrypal(plugins, sample, javaScript)
	if err != nil {
		return "", err
	}
	defer stop()
	defined, err := definitions(c, app.Snapshot(), sizes, listings)
	if err != nil {
		return "", err
	}
	if err := addPython(c, defined, plugins, sample); err != nil {
		return "", err
	}
	others, err := baselines(c, app, filepath.Join(filepath.Dir(sample), "tests", "tokens", "testdata", "baselines"))
	if err != nil {
		return "", err
	}
	talked, err := workflows(c, app, sample)
	if err != nil {
		return "", err
	}
	done, err := errands(c, plugins, sample)
	if err != nil {
		return "", err
	}
	asked, err := workbench(c, filepath.Join(filepath.Dir(sample), "tests", "workbench"))
	if err != nil {
		return "", err
	}
	return page(defined, others, talked, done, asked), nil
}

// pantrypal starts the sample app over an empty folder, with the sandbox that it
// has in production, for scripts in a language.
func pantrypal(dir, sample, language string) (*framework.Instance, func(), error) {
	data, err := os.MkdirTemp("", "koan-tokens-")
	if err != nil {
		return nil, nil, err
	}
	i, stop, err := pantrypalOver("sqlite://"+data, dir, sample, language)
	if err != nil {
		return nil, nil, err
	}
	return i, func() {
		stop()
		_ = os.RemoveAll(data)
	}, nil
}

// Languages of scripts.
const (
	javaScript = "javascript"
	python     = "python"
)

// pantrypalOver starts the sample app over a database.
func pantrypalOver(database, dir, sample, language string) (*framework.Instance, func(), error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	// Without its actions: what is compared is a script and the calls of entities that it stands for.
	whole := app.New()
	i, err := framework.New(context.Background(), framework.App{Name: whole.Name, Entities: whole.Entities}, framework.Options{
		Log: slog.New(slog.DiscardHandler),
		Config: framework.Source{Flags: map[string]string{
			"codeMode.inlineTypesBytes": whole.Defaults["codeMode.inlineTypesBytes"],
			"codeMode.languages":        language,
			"database":                  database, "plugins.dir": dir, "plugins.vision.root": filepath.Join(sample, "testdata"),
		}},
	})
	if err != nil {
		return nil, nil, err
	}
	return i, func() { _ = i.Stop(context.Background()) }, nil
}

// counter counts tokens.
type counter struct{ codec tokenizer.Codec }

func newCounter() (counter, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	return counter{codec}, err
}

func (c counter) count(text []byte) (int, error) { return c.codec.Count(string(text)) }

func (c counter) countAll(texts ...string) (sum int, err error) {
	for _, text := range texts {
		n, err := c.codec.Count(text)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
