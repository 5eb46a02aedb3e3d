# Koan for Go. `make help` lists what there is.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
TOOL := $(GO) tool -modfile=tools/go.mod
BIN := bin
PHOTO ?= sample-pantrypal/testdata/haul.png
WEB ?= 127.0.0.1:8080
FUZZTIME ?= 10s
BENCHTIME ?= 1s
SOAKTIME ?= 30m
ONLY ?=

# What is compiled does not depend on where: all checkouts share the build cache, and so do the apps that
# tests write into folders of their own. No binary names paths of the machine that built it.
export GOFLAGS := $(GOFLAGS) -trimpath

.PHONY: help setup build foods static demo web test lint format unit race generate generated fuzz bench photos tokens pictures baselines databases soak clean

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: ## Install what is missing on a fresh Debian machine (node, protoc, PostgreSQL; npm packages for tests)
	@.ci/setup

# What the binaries say of their build (toolVersion).
VERSION ?= $(shell .ci/version)
VERSIONED = -X github.com/koan-go/koan/framework/build.version=$(VERSION)

# An app uses the worker binary beside it only if both carry the same stamp.
STAMPED = -ldflags "$(VERSIONED) -X github.com/koan-go/koan/codemode/worker.stamp=$(shell .ci/worker-id)"

# They are built whenever make is asked to: the go command knows what is up to date.
PROGRAMS = $(BIN)/koan $(BIN)/koan-worker $(BIN)/pantrypal $(BIN)/demo $(BIN)/plugins/vision
.PHONY: $(PROGRAMS)

build: $(PROGRAMS) ## Build bin/koan, bin/pantrypal, bin/koan-worker and bin/plugins

$(BIN)/koan:
	$(GO) build -ldflags "$(VERSIONED)" -o $@ ./cmd/koan

$(BIN)/koan-worker:
	CGO_ENABLED=0 $(GO) build $(STAMPED) -o $@ ./cmd/koan-worker

$(BIN)/pantrypal:
	$(GO) build $(STAMPED) -o $@ ./sample-pantrypal

$(BIN)/demo:
	$(GO) build -o $@ ./sample-pantrypal/cmd/demo

$(BIN)/plugins/vision:
	$(GO) build -o $@ ./plugins/vision

foods: ## Put the food lookup of the sample, which is written in Python, into bin/plugins
	mkdir -p $(BIN)/plugins/foods
	cp -R sample-pantrypal/plugins/foods/. plugins/python/koan_plugin $(BIN)/plugins/foods/

static: ## Build bin/static/koan without cgo: one static binary, as releases have it
	CGO_ENABLED=0 $(GO) build -ldflags "$(VERSIONED)" -o $(BIN)/static/koan ./cmd/koan

demo: ## A photo of groceries becomes dinner: make demo [PHOTO=path]
	@echo "building ..." >&2
	@$(MAKE) --no-print-directory --silent -j2 build
	@$(BIN)/demo -app $(BIN)/pantrypal -photo "$(PHOTO)"

web: ## PantryPal's web app, with a year of data: make web [WEB=127.0.0.1:8080]
	@echo "building ..." >&2
	@$(MAKE) --no-print-directory --silent -j2 build
	@$(BIN)/pantrypal serve --http $(WEB) --database sqlite://$(CURDIR)/$(BIN)/kitchen

test: ## Everything: format, vet, staticcheck, generated code, all tests
	@$(MAKE) --no-print-directory -j2 setup lint # one waits for packages, the other computes
	@$(MAKE) --no-print-directory -j2 build # linking takes one core
	@$(MAKE) --no-print-directory generated unit

lint: ## gofumpt, vet, staticcheck
	@out=$$(git ls-files '*.go' | xargs grep -L '^// Code generated' | xargs $(TOOL) gofumpt -l); \
	if [ -n "$$out" ]; then echo "not formatted by gofumpt (make format mends it):"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

format: ## Format what is written by hand
	git ls-files '*.go' | xargs grep -L '^// Code generated' | xargs $(TOOL) gofumpt -w

GOTESTSUM = $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg --hide-summary skipped

# A test that fails among the others runs once more, alone: some wait for other processes, and on two
# busy cores those can be late. Both results are printed. After a data race, a panic, or more than
# three failures nothing is repeated.
AGAIN = --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race

unit: ## All tests, those of what runs concurrently under the race detector, with a count at the end
	$(GOTESTSUM) $(AGAIN) --raw-command -- .ci/unit

race: ## Only the tests under the race detector
	$(GOTESTSUM) --raw-command -- .ci/unit race

generate: setup ## Generate the committed generated code anew
	@$(GO) list -f '{{range .GoFiles}}{{$$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... | xargs grep -l '^//go:generate' | xargs -P 2 -n 1 $(GO) generate

generated: generate ## Fail where the committed generated code is stale
	@out=$$(git status --porcelain -- ':(glob)**/ent/**' ':(glob)**/*.pb.go' plugins/python/koan_plugin/plugin.binpb plugins/typescript/plugin.proto sample-pantrypal/testdata); \
	if [ -n "$$out" ]; then echo "generated code is stale; commit what 'make generate' gives:"; echo "$$out"; exit 1; fi

fuzz: ## Run each fuzz target for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

bench: setup build ## The benchmark table, as ratios to the raw thing underneath
	@$(GO) run $(STAMPED) ./tests/bench -benchtime $(BENCHTIME) -only "$(ONLY)"

photos: ## What the barcode reader reads of generated photos, easy and hard, and of 1,000 pictures without codes
	KOAN_PHOTOS=100 KOAN_NOISE=1000 $(GO) test -count=1 -timeout 1h -run 'TestPhotos|TestTrying|TestCutOff|TestNoise' -v ./plugins/vision/barcode

tokens: setup build ## What definitions and conversations cost in tokens; kept in docs/reference/tokens.md
	@$(GO) run ./tests/tokens -write docs/reference/tokens.md

pictures: setup ## Take the pictures of the console and of PantryPal in docs
	$(GO) test -tags pictures -count=1 -run 'TestPictures|TestWeb' ./tests/console ./sample-pantrypal

baselines: setup ## Capture what database servers of npm list (minutes; some compile)
	$(GO) test -tags baselines -count=1 -timeout 30m -run TestCaptureBaselines ./tests/tokens

databases: ## 60 questions over public sample databases, by script and by SQL: make databases DIR=folder of the samples
	KOAN_DATABASES=$(abspath $(DIR)) $(GO) test -tags databases -count=1 -v ./tests/databases

soak: setup build ## Long proofs; SOAKTIME is how long 50 clients come and go
	$(GOTESTSUM) --raw-command -- .ci/unit proofs
	KOAN_SOAK=$(SOAKTIME) $(GO) test -tags soak -count=1 -timeout 3h -run Soak -v ./tests/e2e
	KOAN_SOAK=1 $(GO) test -count=1 -p 1 -timeout 3h $$(git grep -l 'soak\.\(Part\|Rounds\)(' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,') # all cases and rounds of tests that make some with every change
	KOAN_SOAK=1 $(GO) test -tags soak -count=1 -timeout 3h -run 'Soak|Every|Equals|Index|DryRuns' -v ./tests/codemode ./entities/internal/read ./entities/internal/engine
	KOAN_HISTORIES=2500 $(GO) test -count=1 -timeout 3h -run RandomHistories -v ./tests/undo # with and without hooks, on both databases: 10,000

clean: ## Remove what was built
	rm -rf $(BIN)
