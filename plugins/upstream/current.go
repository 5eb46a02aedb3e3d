package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// lookAgain returns a tool as its server has it now: known, as it was listed, if that is still one
// of its tools. Its errors are faults.
func (s *server) lookAgain(ctx context.Context, user, name string, known json.RawMessage) (json.RawMessage, error) {
	conn, err := s.acquire(ctx, user)
	if err != nil {
		return nil, err
	}
	if !(conn.about.lists && conn.listed.isNewest()) {
		err := s.listAgain(ctx, conn)
		if err != nil && conn.lost() { // nothing has been called: it is listed as it is connected again
			s.drop(conn)
			conn, err = s.acquire(ctx, user)
		}
		if err != nil {
			return nil, err
		}
	}
	if conn.listed.offers(known) {
		return known, nil
	}
	now := conn.listed.find(name)
	if now == nil {
		return nil, fault.Newf(fault.ToolNotFound, "the server %s has no tool %q any more", s.cfg.ID, cut(name, 100))
	}
	return now, nil
}

// redefined returns the operation of a tool that has changed since it was listed. It keeps the
// operation's name.
func (s operations) redefined(raw json.RawMessage, name string) (*catalog.Operation, error) {
	var t tool
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fault.Newf(fault.UpstreamError, "what the server %s says of its tool %s cannot be read", s.cfg.ID, name).Because(err)
	}
	op, _ := s.tool(&t, raw, name, unusable)
	return op, nil
}

// listAgain lists the tools of a connection once more.
func (s *server) listAgain(ctx context.Context, conn *connection) error {
	s.mu.Lock()
	var of *session
	for _, x := range s.sessions {
		if x.conn == conn {
			of = x
		}
	}
	s.mu.Unlock()
	if of == nil {
		return nil // it has just been lost: the call finds out
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Start, fmt.Errorf("it did not list its tools in %s", s.cfg.Start))
	defer cancel()
	err := s.list(ctx, of, conn)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return s.unreached(of.user, err)
	}
	return nil
}

// changedMeanwhile is the fault of a call whose tool is another one than the one that was agreed
// to, on the connection that would make it. Nothing was sent.
func (s *faults) changedMeanwhile(r *request) *fault.Fault {
	return fault.Newf(fault.ApprovalRequired, "%s of the server %s has changed since its call was approved; nothing was sent", r.tool, s.cfg.ID).
		WithRetry(fault.Safe).WithHint("Call again: a person is asked about the tool as it is now.")
}

// announcedTime bounds the wait of a script for a list that a server has announced to be another one.
const announcedTime = 5 * time.Second

// awaitAnnounced waits until the changes that a server has announced before are listed: a script that
// begins now has them (codemode-run-spec section 8.1). It waits once for a server that does not list them
// in time, and not for changes that are announced meanwhile.
func (s *server) awaitAnnounced(ctx context.Context, x *session, conn *connection) {
	moved, first := conn.listed.announcedList()
	late := time.NewTimer(min(announcedTime, s.cfg.Start))
	defer late.Stop()
	for moved != nil {
		select {
		case x.wanted <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-late.C:
			conn.listed.noteTried(first)
			return
		case <-ctx.Done():
			return
		}
		if conn.listed.hasTried(first) {
			return
		}
		moved, _ = conn.listed.announcedList()
	}
}
