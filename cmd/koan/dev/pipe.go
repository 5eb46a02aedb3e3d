package dev

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"
)

// answerWithin is how long a replacement waits for calls that are under way.
const answerWithin = 10 * time.Second

// ownID begins the ids of requests that the front itself sends to a process.
const ownID = "koan-dev-"

// pipeFront is one client on standard input and output, which speaks JSON-RPC in lines.
type pipeFront struct {
	in   *bufio.Reader
	out  io.Writer
	errs io.Writer

	// sending and telling keep lines whole and in order: those to a process, and those to the client. Nobody
	// who holds f.mu waits for either, so a peer that does not read holds up only those who write to it.
	sending, telling sync.Mutex

	mu      sync.Mutex
	process *process                 // that gets messages; nil while it is replaced
	held    [][]byte                 // what the client sends meanwhile
	pending map[string]bool          // ids of the client's requests that have no answer yet; true for those that have none by nature
	asked   map[string]bool          // ids of the process's requests that have none
	own     map[string]chan struct{} // by the ids of the front's own requests
	asks    int                      // how many there were
	said    greeting
}

// greeting is what the client has told the server about itself, and what a new process has to be told.
type greeting struct {
	initialize, initialized []byte
	kept                    map[string][]byte // by what they set: subscriptions, the level of logs
}

// message is what the front has to know of a message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		URI       string          `json:"uri,omitempty"`
		RequestID json.RawMessage `json:"requestId,omitempty"`
	} `json:"params"`
}

func newPipeFront(in io.Reader, out, errs io.Writer) *pipeFront {
	return &pipeFront{
		in: bufio.NewReader(in), out: out, errs: errs,
		pending: map[string]bool{}, asked: map[string]bool{}, own: map[string]chan struct{}{}, said: greeting{kept: map[string][]byte{}},
	}
}

// run implements front.
func (f *pipeFront) run(ctx context.Context) error {
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() {
		for {
			line, err := f.in.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				lines <- line
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				f.settle(serveWithin, func() int { return f.underWay() + len(f.held) }) // the first process may not serve yet
				return nil
			}
			return err
		case line := <-lines:
			f.fromClient(line)
		}
	}
}

// underWay returns how many requests will have an answer. The caller holds f.mu.
func (f *pipeFront) underWay() (n int) {
	for _, endless := range f.pending {
		if !endless {
			n++
		}
	}
	return n
}

// settle waits until nothing is left of what is counted under f.mu.
func (f *pipeFront) settle(within time.Duration, count func() int) {
	for began := time.Now(); time.Since(began) < within; time.Sleep(5 * time.Millisecond) {
		f.mu.Lock()
		left := count()
		f.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// fromClient takes a line of the client.
func (f *pipeFront) fromClient(line []byte) {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	p := f.process
	if p == nil {
		f.held = append(f.held, line)
	}
	f.mu.Unlock()
	if p != nil {
		f.forward(p, line)
	}
}

// forward sends a line from the client to a process. The caller holds f.sending.
func (f *pipeFront) forward(p *process, line []byte) {
	if f.expects(line) {
		_, _ = p.in.Write(line) // where it has ended, its end answers
	}
}

// expects notes what a line of the client asks for and says, and reports whether a process expects it.
func (f *pipeFront) expects(line []byte) bool {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return true // the process says that it is no message
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := string(m.ID)
	switch {
	case m.Method == "" && id != "":
		if !f.asked[id] {
			return false // a process asked that has ended
		}
		delete(f.asked, id)
	case id != "":
		f.pending[id] = m.Method == "subscriptions/listen"
	case m.Method == "notifications/cancelled":
		delete(f.pending, string(m.Params.RequestID)) // it has no answer
	}
	f.said.note(m, line)
	return true
}

// note keeps what a new process has to be told.
func (g *greeting) note(m message, line []byte) {
	switch m.Method {
	case "initialize":
		g.initialize = line
	case "notifications/initialized":
		g.initialized = line
	case "logging/setLevel":
		g.kept[m.Method] = line
	case "resources/subscribe":
		g.kept[m.Params.URI] = line
	case "resources/unsubscribe":
		delete(g.kept, m.Params.URI)
	}
}

// listen passes on what a process says, until it ends.
func (f *pipeFront) listen(p *process) {
	defer close(p.read)
	for {
		line, err := p.out.ReadBytes('\n')
		if len(line) > 0 && err == nil {
			f.fromProcess(line)
		}
		if err != nil {
			break
		}
	}
	f.mu.Lock()
	p.silent = true
	served := f.process == p
	f.mu.Unlock()
	if served { // else it was replaced
		f.lose()
	}
}

// lose has nothing serve any more, since a process has ended by itself.
func (f *pipeFront) lose() {
	f.mu.Lock()
	f.process = nil
	f.mu.Unlock()
	f.refusePending("the app has ended")
	fmt.Fprintln(f.errs, "koan dev: the app has ended; it starts again with the next change")
}

func (f *pipeFront) fromProcess(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return // nothing that a client could read
	}
	id := string(m.ID)
	if m.Method != "" && id != "" {
		f.mu.Lock()
		f.asked[id] = true
		f.mu.Unlock()
	}
	if m.Method != "" || !f.isOwn(id) {
		f.tell(string(line))
	}
	if m.Method == "" { // told before: whoever waits for it may end the program then
		f.mu.Lock()
		delete(f.pending, id)
		f.mu.Unlock()
	}
}

// isOwn reports whether an answer is to a request of the front itself, which gets it.
func (f *pipeFront) isOwn(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done := f.own[id]; done != nil {
		close(done)
		delete(f.own, id)
	}
	return strings.HasPrefix(id, `"`+ownID)
}

// tell writes whole lines to the client.
func (f *pipeFront) tell(lines string) {
	f.telling.Lock()
	defer f.telling.Unlock()
	_, _ = io.WriteString(f.out, lines)
}

// replace implements front. The new process starts beside the old one, so that what does not begin to serve changes
// nothing.
func (f *pipeFront) replace(ctx context.Context, made build) error {
	p, err := start(made, f.errs)
	if err != nil {
		return err
	}
	go f.listen(p)
	introduced, err := f.greet(ctx, p)
	if err != nil {
		p.end()
		return err
	}
	f.retire()
	if !introduced && f.isIntroduced() { // meanwhile
		if _, err := f.greet(ctx, p); err != nil {
			p.end()
			return err
		}
	}
	f.resume(p)
	return nil
}

// retire has the client's messages wait, and ends the process that serves once what is under way is answered.
func (f *pipeFront) retire() {
	f.mu.Lock()
	old := f.process
	f.process = nil
	f.mu.Unlock()
	if old == nil {
		return
	}
	f.settle(answerWithin, f.underWay)
	old.end()
	<-old.read
	f.mu.Lock()
	f.asked = map[string]bool{}
	f.mu.Unlock()
	f.refusePending("the app was replaced while it worked on this; look at what is there before you send it again")
}

// resume gives a process what has waited for it.
func (f *pipeFront) resume(p *process) {
	if f.isIntroduced() {
		for _, what := range []string{"tools", "resources", "prompts"} {
			f.tell(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`+"\n", what))
		}
	}
	f.sending.Lock()
	defer f.sending.Unlock()
	for {
		f.mu.Lock()
		if len(f.held) == 0 {
			f.process = p
			lost := p.silent // before it was the one that serves
			f.mu.Unlock()
			if lost {
				f.lose()
			}
			return
		}
		line := f.held[0]
		f.mu.Unlock()
		f.forward(p, line)
		f.mu.Lock()
		f.held = f.held[1:] // only now: it is counted as under way
		f.mu.Unlock()
	}
}

// isIntroduced reports whether the client has said who it is.
func (f *pipeFront) isIntroduced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said.initialize != nil
}

// refusePending answers the requests that nobody answers any more.
func (f *pipeFront) refusePending(why string) {
	f.mu.Lock()
	pending := f.pending
	f.pending = map[string]bool{}
	f.mu.Unlock()
	for id := range pending {
		f.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`+"\n", id, why))
	}
}

// greet tells a process what the client has said, and waits until it answers. It reports whether the client had
// said who it is.
func (f *pipeFront) greet(ctx context.Context, p *process) (introduced bool, err error) {
	f.mu.Lock()
	said := greeting{f.said.initialize, f.said.initialized, maps.Clone(f.said.kept)}
	f.mu.Unlock()
	introduced = said.initialize != nil
	first := []byte(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	if introduced {
		first = said.initialize
	}
	if err := f.ask(ctx, p, first); err != nil {
		return introduced, err
	}
	if said.initialized != nil {
		if _, err := p.in.Write(said.initialized); err != nil {
			return introduced, errEnded
		}
	}
	for _, line := range said.kept {
		if err := f.ask(ctx, p, line); err != nil {
			return introduced, err
		}
	}
	return introduced, nil
}

// ask sends a request under an id of the front's own, and waits for the answer, which the client does not see.
func (f *pipeFront) ask(ctx context.Context, p *process, line []byte) error {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(line, &request); err != nil {
		return err
	}
	f.mu.Lock()
	f.asks++
	id := fmt.Sprintf("%q", fmt.Sprint(ownID, f.asks))
	answered := make(chan struct{})
	f.own[id] = answered
	f.mu.Unlock()
	request["id"] = json.RawMessage(id)
	raw, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		return errEnded
	}
	select {
	case <-answered:
		return nil
	case <-p.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(serveWithin):
		return fmt.Errorf("it does not answer within %s", serveWithin)
	}
}

// stop implements front.
func (f *pipeFront) stop() {
	f.mu.Lock()
	p := f.process
	f.process = nil
	f.mu.Unlock()
	if p != nil {
		p.end()
	}
}
