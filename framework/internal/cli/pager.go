package cli

import (
	"io"
	"os"
	"os/exec"
	"strings"
)

// pageLines is how long a text may be on a terminal before it is paged: about one
// screen.
const pageLines = 22

// page shows a text to a person: through $PAGER (else less, else more) if it is longer
// than a screen and out is a terminal, else directly.
func page(out io.Writer, text string) {
	var pager *exec.Cmd
	if onTerminal(out) && strings.Count(text, "\n") > pageLines {
		pager = pagerCommand()
	}
	if pager == nil {
		_, _ = io.WriteString(out, text)
		return
	}
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), out, out
	if err := pager.Run(); err != nil { // nobody decides about what was not shown
		_, _ = io.WriteString(out, text)
	}
}

// pagerCommand returns the user's pager, nil if there is none.
func pagerCommand() *exec.Cmd {
	for _, name := range []string{os.Getenv("PAGER"), "less", "more"} {
		words := strings.Fields(name)
		if len(words) == 0 {
			continue
		}
		path, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		cmd := exec.Command(path, words[1:]...)
		cmd.Env = os.Environ()
		if os.Getenv("LESS") == "" {
			cmd.Env = append(cmd.Env, "LESS=FRX") // leave the text on the screen, above the question
		}
		return cmd
	}
	return nil
}
