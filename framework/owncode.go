package framework

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/schema/gotype"
)

// Invoke makes one call from inside the program, by its catalog id, such as "koan::Order.patch", with a
// principal's rights. The principal can call everything that its rights allow, whatever
// clients are shown. in is its input, a value that becomes a JSON object; nil is {}. out is where its
// output is decoded, nil to ignore it. The error is a fault. The outcome says what the run did; it
// is nil where there was none, since the id is not one.
func (i *Instance) Invoke(ctx context.Context, p Principal, id string, in, out any) (*run.Outcome, error) {
	return i.InvokeOnce(ctx, p, "", id, in, out)
}

// InvokeOnce is Invoke with an idempotency key of the caller, "" for none: sent again with the same key
// and input, the call returns what it returned first.
func (i *Instance) InvokeOnce(ctx context.Context, p Principal, key, id string, in, out any) (*run.Outcome, error) {
	parsed, input, err := encodeCall(id, in)
	if err != nil {
		return nil, err
	}
	raw, outcome, err := i.engine.Invoke(ctx, run.Request{View: i.viewOf(p), Principal: p, ID: parsed, Input: input, Surface: "app", IdempotencyKey: key})
	if err != nil {
		return outcome, err
	}
	return outcome, decodeOutput(id, raw, out)
}

// Tx runs code of the app as one run on a set ("" is that of calls which name none), with a
// principal's rights: for jobs, pages and commands that work with ent's client. What fn does with
// the context that it gets, through ent's client or call, is one transaction. It is kept if fn
// returns nil, and is in the journal, in events and in an undo as what any run did. App.Viewer has
// seen the principal, so policies hold. Nobody is asked for an approval.
//
//	_, err := instance.Tx(ctx, framework.Principal{Subject: "job", Sets: []string{"default"}}, "", func(ctx context.Context, call framework.Call) error {
//		client, err := ent.ClientOf(ctx)
//		if err != nil {
//			return err
//		}
//		return client.Rental.Update().Where(rental.DueLT(call.Now())).SetLate(true).Exec(ctx)
//	})
//
// Like an action, fn may be called several times, when the data has changed meanwhile: see Call. A
// fault that fn returns reaches the caller of Tx unchanged, and so does any other error, as
// the cause of execution_error.
func (i *Instance) Tx(ctx context.Context, p Principal, set string, fn func(context.Context, Call) error) (*run.Outcome, error) {
	op := &catalog.Operation{
		ID: catalog.CodeID("app", "tx"),
		Contract: catalog.Contract{
			Proven:  true,
			Effects: catalog.Effects{Destructive: true, Outside: true},
		},
		Work: catalog.Work{
			Nested: true, Rights: &catalog.Rights{},
			Handler: func(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
				ctx, c, err := beginOwnCode(ctx, call)
				if err == nil {
					err = fn(ctx, c)
				}
				if err == nil || run.Ends(err) || fault.Known(err) {
					return json.RawMessage("null"), err
				}
				return nil, fault.New(fault.ExecutionError, "the app's own code failed").Because(err)
			},
		},
	}
	return i.engine.Do(ctx, run.Request{View: i.viewOf(p), Principal: p, Set: set, Surface: "app"}, op, false)
}

// viewOf returns all of the catalog that a principal's rights allow.
func (i *Instance) viewOf(p Principal) *catalog.View {
	return i.Snapshot().View(p, exposure.Full, i.Negotiated())
}

// beginOwnCode returns what code of the app gets that is the handler of a nested call: its Call, and
// a context in which ent's clients work in the run.
func beginOwnCode(ctx context.Context, call catalog.Call) (context.Context, Call, error) {
	nest := run.NestOf(ctx)
	if nest == nil {
		return nil, Call{}, fault.New(fault.Internal, "an action is called as a part of a run")
	}
	c, err := newCall(call, nest)
	if err != nil {
		return nil, Call{}, err
	}
	entered, err := nest.Enter(ctx, nest.Set())
	switch {
	case err == nil:
		return entered, c, nil
	case run.Ends(err):
		return nil, Call{}, err
	}
	return shim.WithClient(ctx, nil, err), c, nil // a fault for who asks for the client
}

// encodeCall returns a call's id and input.
func encodeCall(id string, in any) (catalog.ID, json.RawMessage, error) {
	parsed, err := catalog.ParseID(id)
	if err != nil || in == nil {
		return parsed, nil, err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return parsed, nil, fault.New(fault.InvalidPayload, "the input is not JSON").Because(err)
	}
	return parsed, input, nil
}

// decodeOutput decodes the output of a call for code of the app.
func decodeOutput(id string, raw json.RawMessage, out any) error {
	if out == nil {
		return nil
	}
	if err := gotype.Unmarshal(raw, out); err != nil {
		return fault.Newf(fault.ExecutionError, "the output of %s does not fit the Go value that it is decoded into: %s", id, fmt.Sprintf("%T", out)).Because(err)
	}
	return nil
}
