package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/koan-go/koan/codemode/internal/recording"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/replay"
)

var _ replay.Replayer = (*provider)(nil)

// recorder records the conversation of the script and its host, if the run will be kept;
// it returns nil if not.
func (e *execution) recorder(a *run.Attempt, h wire.Host) *recording.Recorder {
	most := replay.Recording(a.Run())
	if most == 0 {
		return nil
	}
	return recording.NewRecorder(h, most)
}

// keep adds the recording of the last attempt to the run, for a replay. The logs that the
// caller gets are redacted later; those of the recording are not.
func keep(a *run.Attempt, rec *recording.Recorder, job *wire.Job, res *wire.Result, ended error) {
	if res != nil {
		own := *res
		own.Logs = slices.Clone(res.Logs)
		res = &own
	}
	replay.KeepScript(a.Run(), rec.Size(), func() ([]byte, error) {
		s, err := rec.Script(*job, res, ended)
		if err != nil {
			return nil, err
		}
		return s.Encode()
	})
}

// Replays implements replay.Replayer.
func (p *provider) Replays(id catalog.ID) bool {
	return id.Kind == catalog.KindCode && p.scripts.executor != nil
}

// Replay implements replay.Replayer.
func (p *provider) Replay(ctx context.Context, k *replay.KeptRun, again *replay.Again) (*replay.Replayed, error) {
	var in struct {
		Code string          `json:"code"`
		Args json.RawMessage `json:"args"`
	}
	err := json.Unmarshal(k.Input, &in)
	if err != nil {
		return nil, fault.Newf(fault.CapabilityUnsupported, "the recording of the run %q has no script", k.Run).Because(err)
	}
	s, err := recording.Decode(k.Script, in.Code, in.Args)
	if err != nil {
		return nil, fault.Newf(fault.CapabilityUnsupported, "the recording of the run %q cannot be read by this build", k.Run).
			WithHint("Replay it with the build that recorded it.").Because(err)
	}
	r := &replayed{script: s, again: again}
	if again != nil {
		err = again.Run(context.WithValue(ctx, replayedKey{}, r))
		if r.player == nil { // it never came to the script
			return nil, err
		}
	} else {
		err = r.replayRecording(ctx, &p.scripts)
	}
	if r.res == nil || err != nil && r.res.Fault == nil && fault.CodeOf(err) != fault.ReplayDiffers {
		return nil, err
	}
	return r.player.Compare(r.res), nil
}

// replayed is a script that is executed again.
type replayed struct {
	script *recording.Script
	again  *replay.Again
	player *recording.Player // of the last attempt
	res    *wire.Result
}

// language is the one that the script was in, whichever is the first one by now.
func (r *replayed) language() string { return cmp.Or(r.script.Job.Language, languageJavaScript) }

type replayedKey struct{}

// replayRecording executes the script from its recording alone.
func (r *replayed) replayRecording(ctx context.Context, s *scripts) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config().wall)
	defer cancel()
	if err := s.admitLanguage(r.language()); err != nil {
		return err
	}
	job := r.script.Job
	r.player = recording.NewPlayer(r.script, nil)
	r.res, err = s.executor.Execute(ctx, &job, r.player)
	if ctx.Err() != nil {
		return errors.Join(fault.New(fault.Timeout, "the replay took longer than a run may"), err)
	}
	return err
}

// replaying returns the script that ctx executes again, nil for an ordinary run.
func replaying(ctx context.Context) *replayed {
	r, _ := ctx.Value(replayedKey{}).(*replayed)
	return r
}

// repeating makes calls again, as an attempt of its own.
type repeating struct {
	*run.Attempt
	again *replay.Again
}

func (r *repeating) Makes(id catalog.ID) bool { return r.again.Makes(id) }

// replayOnData is an attempt of a replay against today's data, or of plugins as they are now: the job sees the
// same run, and the calls that are made again are the attempt's.
func (r *replayed) replayOnData(ctx context.Context, executor wire.Executor, job *wire.Job, a *run.Attempt) (*wire.Result, error) {
	then := &r.script.Job
	o := then.Occasion
	o.Set = job.Set
	job.Occasion, job.Language = o, then.Language
	r.player = recording.NewPlayer(r.script, &repeating{a, r.again})
	res, err := executor.Execute(withSpending(ctx, &spending{limits: job.Limits}), job, r.player)
	r.res = res
	return res, err
}
