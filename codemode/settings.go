package codemode

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	node "github.com/koan-go/koan/codemode/internal/language/node/source"
	python "github.com/koan-go/koan/codemode/internal/language/python/source"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// The keys of CONTRACT section 1 that belong to code mode.
const (
	keyEnabled       = "codeMode.enabled"
	keyRuntime       = "codeMode.runtime"
	keyLanguages     = "codeMode.languages"
	keyPython        = "codeMode.python"
	keyPythonModules = "codeMode.pythonModules"
	keyNode          = "codeMode.node"
	keyNodeModules   = "codeMode.nodeModules"
	keyFaces         = "codeMode.faces"
	keyMaxSDKCalls   = "codeMode.maxSdkCalls"
	keyMaxParallel   = "codeMode.maxParallelCalls"
	keyRequireAnswer = "codeMode.requireAnswer"
	keyMaxLogEntries = "codeMode.maxLogEntries"
	keyMaxLogBytes   = "codeMode.maxLogBytes"
	keyMaxLogMessage = "codeMode.maxLogMessageBytes"
	keyMaxCall       = "codeMode.maxCallBytes"
	keyMaxFrames     = "codeMode.maxStackFrames"
	keyMaxResult     = "codeMode.maxResultBytes"
	keyInlineTypes   = "codeMode.inlineTypesBytes"
	keyCPU           = "sandbox.cpuMs"
	keyTimeout       = "sandbox.timeoutMs"
	keyMemory        = "sandbox.memoryMb"
	keyMaxRecursion  = "sandbox.maxRecursion"
	keyMaxCodeLength = "sandbox.maxCodeLength"
	keyRequire       = "sandbox.require"
	keyMaxWorkers    = "sandbox.maxWorkers"
	keyQueueMax      = "sandbox.queueMax"
	keyFresh         = "sandbox.fresh"
)

const (
	languageJavaScript = "javascript"
	languageTypeScript = "typescript"
	languagePython     = python.Name
	languageNode       = node.Name
)

const (
	runtimeGoja  = "goja"
	faceKoan     = "koan"
	faceCodemode = "codemode"
)

var builtLanguages = []string{languageJavaScript, languagePython, languageNode}

var builtFaces = []string{faceKoan, faceCodemode, faceGateway}

func declared() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyEnabled, Default: true, Help: "offer code mode"},
		{Key: keyRuntime, Default: runtimeGoja, Help: "JavaScript engine"},
		{Key: keyLanguages, Default: []string{languageJavaScript}, Help: "languages of scripts: javascript (TypeScript too), python, node; the first is the default, and that of descriptions"},
		{Key: keyPython, Default: "python3", Help: "the interpreter of Python scripts: a name on the PATH, or a path; 3.11 or newer"},
		{Key: keyPythonModules, Default: []string{}, Help: "modules beside the standard library that Python scripts can import, loaded before scripts start: numpy, pandas"},
		{Key: keyNode, Default: "node", Help: "the interpreter of Node scripts: a name on the PATH, or a path; 20 or newer"},
		{Key: keyNodeModules, Default: "", Help: "folder of npm packages that Node scripts can import, or of a project with node_modules; read-only"},
		{Key: keyFaces, Default: []string{faceKoan}, Help: "sets of code tools: koan, codemode, gateway"},
		{Key: keyMaxSDKCalls, Default: 1000, Min: 0, Max: 1_000_000, Help: "calls that one script may make; 0 is unlimited"},
		{Key: keyMaxParallel, Default: sandbox.DefaultLimits().MaxParallelCalls, Min: 1, Max: 10_000, Help: "calls to plugins and upstream servers of one script that are made at once; others wait"},
		{Key: keyRequireAnswer, Live: true, Default: false, Help: "a script must call SDK.Out.answer"},
		{Key: keyMaxLogEntries, Live: true, Default: 200, Min: 1, Max: 100_000, Help: "log messages kept of one script"},
		{Key: keyMaxLogBytes, Live: true, Default: 64 << 10, Min: 256, Max: 16 << 20, Unit: "bytes", Help: "log text kept of one script"},
		{Key: keyMaxLogMessage, Live: true, Default: sandbox.DefaultLimits().MaxLogMessageBytes, Min: 64, Max: 16 << 20, Unit: "bytes", Help: "one log message; a longer one is cut, with a note"},
		{Key: keyMaxFrames, Live: true, Default: sandbox.DefaultLimits().MaxStackFrames, Min: 1, Max: 1000, Help: "stack frames of a script that a failure lists"},
		{Key: keyMaxCall, Live: true, Default: sandbox.DefaultLimits().MaxCallBytes, Min: 1024, Max: 256 << 20, Unit: "bytes", Help: "input of one call, and its output"},
		{Key: keyMaxResult, Live: true, Default: 256 << 10, Min: 64, Max: 64 << 20, Unit: "bytes", Help: "largest result, and largest answer"},
		{Key: keyInlineTypes, Default: 16000, Min: 0, Max: 1 << 20, Unit: "bytes", Help: "declarations in the description of the execute tool"},
		{Key: keyCPU, Live: true, Default: 2000, Min: 10, Max: 600_000, Unit: "ms", Help: "CPU time of one attempt"},
		{Key: keyTimeout, Live: true, Default: 30_000, Min: 10, Max: 3_600_000, Unit: "ms", Help: "wall-clock time of one run"},
		{Key: keyMemory, Live: true, Default: 64, Min: 8, Max: 4096, Unit: "MB", Help: "memory of one script"},
		{Key: keyMaxRecursion, Live: true, Default: 512, Min: 16, Max: 5000, Help: "depth of nested calls in a script"},
		{Key: keyMaxCodeLength, Live: true, Default: 50_000, Min: 1, Max: 10_000_000, Unit: "characters", Help: "longest script"},
		{Key: keyMaxWorkers, Default: 0, Min: 0, Max: 1024, Help: "scripts that compute at once, those that wait for a plugin, an upstream or a person not counted; 0 is eight per core"},
		{Key: keyQueueMax, Default: 64, Min: 1, Max: 65_536, Help: "scripts of one caller that wait for their turn; one more is queue_overloaded"},
		{Key: keyFresh, Default: false, Help: "a process for every script, not for every caller"},
		{Key: keyActionsDir, Default: "", Help: "folder with the files of actions, NAME.ts or NAME.js; changes are taken while the app runs"},
		{Key: keyActionsEmbedded, Default: true, Help: "offer the actions that the app embeds; one of the same name in actions.dir takes its place"},
		{Key: keyRequire, Default: []string{}, Help: "isolation layers that the app needs to start: " + strings.Join(worker.Layers(), ", ")},
	}
}

// limits are the options of an executor.
type limits struct {
	wire.Limits
	// require are the required layers of isolation.
	require []string
	// maxWorkers and queueMax bound the scripts that run at once, and those of one
	// caller that wait. 0 is the executor's own.
	maxWorkers, queueMax int
	// fresh means a process for every script.
	fresh bool
	// testing means an executor in this process, for koantest.
	testing bool
	// oneShot means that one script is run, and no worker is started for a second one.
	oneShot bool
	log     *slog.Logger
	interpreters
}

// interpreters are the languages that are configured, and the machine's own programs that run some of them.
type interpreters struct {
	languages     []string
	python        string
	pythonModules []string
	node          string
	nodeModules   string
}

// settings is the checked configuration.
type settings struct {
	enabled       bool
	runtime       string
	faces         []string
	maxCalls      int
	requireAnswer bool
	inlineTypes   int
	wall          time.Duration
	maxCodeLength int
	limits        limits
}

func read(v catalog.Values) settings {
	return settings{
		enabled: v.Bool(keyEnabled), runtime: v.String(keyRuntime), faces: v.Strings(keyFaces),
		maxCalls: v.Int(keyMaxSDKCalls), requireAnswer: v.Bool(keyRequireAnswer), inlineTypes: v.Int(keyInlineTypes),
		wall: time.Duration(v.Int(keyTimeout)) * time.Millisecond, maxCodeLength: v.Int(keyMaxCodeLength),
		limits: limits{Limits: wire.Limits{
			CPUMs: v.Int(keyCPU), MemoryBytes: int64(v.Int(keyMemory)) << 20, MaxRecursion: v.Int(keyMaxRecursion),
			MaxLogEntries: v.Int(keyMaxLogEntries), MaxLogBytes: v.Int(keyMaxLogBytes),
			MaxResultBytes: v.Int(keyMaxResult), MaxCallBytes: v.Int(keyMaxCall),
			MaxLogMessageBytes: v.Int(keyMaxLogMessage), MaxStackFrames: v.Int(keyMaxFrames),
			MaxParallelCalls: v.Int(keyMaxParallel),
		}, interpreters: interpreters{v.Strings(keyLanguages), v.String(keyPython), v.Strings(keyPythonModules), v.String(keyNode), v.String(keyNodeModules)}, require: v.Strings(keyRequire), maxWorkers: v.Int(keyMaxWorkers), queueMax: v.Int(keyQueueMax), fresh: v.Bool(keyFresh)},
	}
}

// supported returns an error that lists all configured options that this build does not
// support.
func (s settings) supported() error {
	var wrong []string
	if s.runtime != runtimeGoja {
		wrong = append(wrong, keyRuntime+": there is no runtime "+quoted(s.runtime)+"; this build has "+quoted(runtimeGoja))
	}
	for _, face := range s.faces {
		if !slices.Contains(builtFaces, face) {
			wrong = append(wrong, keyFaces+": the face "+quoted(face)+" is not built; this build has "+strings.Join(builtFaces, ", "))
		}
	}
	if len(s.limits.languages) == 0 {
		wrong = append(wrong, keyLanguages+": no language is named")
	}
	for _, l := range s.limits.languages {
		if !slices.Contains(builtLanguages, l) {
			wrong = append(wrong, keyLanguages+": the language "+quoted(l)+" is not built; this build has "+strings.Join(builtLanguages, ", "))
		}
	}
	if s.enabled && len(s.faces) == 0 && len(wrong) == 0 {
		wrong = append(wrong, keyFaces+": no face is named; set "+keyEnabled+" to false to switch code mode off")
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, strings.Join(wrong, "; "))
}

func quoted(s string) string { return "\"" + shorten(s) + "\"" }
