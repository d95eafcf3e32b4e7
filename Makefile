# The targets for developers and for CI. Run "make" for the list.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

GO     ?= go
PKG    ?= ./...
RUN    ?= .
COUNT  ?= 10
DUR    ?= 30s
NAME   ?=
BUDGET ?=
PART   ?= 1/1
N      ?= 100000
D      ?= 200
FULL   ?=
OLD    ?= HEAD
RENAME ?=

# golangci-lint is built from the module proxy into a cache outside the tree. All other
# tools come from internal/tools/go.mod.
GOLANGCI_VERSION := v2.15.0
CACHE    ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lanewright
GOLANGCI := $(CACHE)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
TOOL     := $(GO) tool -modfile=internal/tools/go.mod

# The packages that generate programs, and the fuzz targets as package:name.
GENERATED = $(shell grep -rlE --include='*_test.go' '^func TestGenerated' . | xargs -n1 dirname | sort -u)
FUZZERS = $(shell grep -roE --include='*_test.go' '^func Fuzz[A-Z0-9][A-Za-z0-9_]*' . | \
	awk -F: '{ sub("/[^/]*$$", "", $$1); sub("func ", "", $$2); print $$1 ":" $$2 }' | sort -u)

# The targets that "go vet" must accept. FULL=1 adds all others that are expected to build.
CROSS := linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64 linux/riscv64 linux/s390x js/wasm
TYPES := linux/386 linux/arm linux/ppc64le linux/mips64le linux/mips linux/loong64 \
	darwin/amd64 windows/arm64 windows/386 freebsd/arm64 netbsd/amd64 openbsd/amd64 \
	dragonfly/amd64 solaris/amd64 illumos/amd64 aix/ppc64 plan9/amd64 wasip1/wasm

.PHONY: help check fmt lint test race interleave crash delay models programs enumerate mutants rehunk stress purego 386 cross fuzz record bench compare cover api tidy hooks tools

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-11s %s\n", $$1, $$2}'

check: ## the steps of CI without installation and emulators
	bash .ci/run -local

fmt: tools ## format the tree
	$(GOLANGCI) fmt

lint: tools ## vet, linters and the repository rules
	$(GO) vet $(PKG)
	$(GO) vet -tags interleave $(PKG)
	$(GOLANGCI) run
	$(GO) test ./internal/lint

test: ## fast tests, shuffled: make test RUN=TestRing PKG=./runqueue
	$(GO) test -short -shuffle=on -run '$(RUN)' $(PKG)

race: ## all tests under the race detector, with invariants on
	CGO_ENABLED=1 $(GO) test -race -tags invariants -run '$(RUN)' $(PKG)

interleave: ## all tests, models included, with the model types in place of atomics
	$(GO) test -tags interleave -run '$(RUN)' $(PKG)

crash: ## let worker processes and hosts die at each step D times: make crash D=1000 for a soak
	$(GO) test -tags crash -count=1 -v -timeout 0 -run '^TestKillSweep' ./pool -sweep.worker=$(if $(filter command line,$(origin D)),$(D),100)

delay: ## tests that delay one in D atomic operations: make delay D=50 PKG=./sched
	@pkgs=$$($(GO) list -tags interleave -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .Deps " "}}{{end}}' $(PKG) | \
		awk '/lanewright\/interleave/ {print $$1}'); \
	$(GO) test -tags interleave -short -count=1 -skip '^TestModel' $$pkgs -interleave.delay=$(D)

models: ## explore every model: make models BUDGET=30m for a soak of 30 minutes in all
	@$(GO) run ./internal/models $(if $(BUDGET),-budget $(BUDGET))

programs: ## generate N programs with their schedules: make programs N=1000000
	@tests=$$(grep -rhE --include='*_test.go' '^func TestGenerated' . | wc -l); checks=$$(( $(N) / tests + 1 )); \
	$(GO) test -tags interleave -count=1 -timeout 0 -run '^TestGenerated' $(GENERATED) -rapid.checks=$$checks && \
	echo "programs: $$tests tests of $$checks programs each"

enumerate: ## compare the explorer with an enumerator on N programs: make enumerate N=1000000
	$(GO) test -count=1 -timeout 0 -v -run '^TestGeneratedOutcomesEqualEnumeration$$' ./interleave -rapid.checks=$(N)

mutants: ## plant each known bug and check that a test finds it: make mutants PART=1/4
	@$(GO) run ./internal/mutants -part $(PART)

rehunk: ## rewrite the mutants after a move or a rename: make rehunk OLD=main RENAME=table.tsv
	@$(GO) run ./internal/mutants rehunk -old $(OLD) $(if $(RENAME),-rename $(RENAME))

stress: ## the laws and scenarios on real threads: make stress DUR=10m
	$(GO) run ./cmd/lanewright stress -duration $(DUR)

purego: ## all tests without assembly
	$(GO) test -tags purego -short $(PKG)

386: ## all tests on 32 bits
	GOARCH=386 CGO_ENABLED=0 $(GO) test -short $(PKG)

cross: ## vet for other systems and processors: make cross FULL=1 type-checks for many more
	@for t in $(CROSS); do \
		echo "vet $$t"; \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) vet $(PKG) || { echo "vet $$t failed" >&2; exit 1; }; \
	done
	$(if $(FULL),$(GO) run -C internal/tools ./typecheck -dir "$(CURDIR)" $(TYPES))

# The limit is a number of inputs and not a time: at the end of a time, go test may report
# the failure "context deadline exceeded" (golang/go#75804, fixed in go1.27).
fuzz: ## each fuzz target with N inputs: make fuzz N=1000000 RUN=FuzzWord
	@for f in $(FUZZERS); do \
		if [[ "$${f#*:}" =~ $(RUN) ]]; then \
			echo "$$f"; \
			$(GO) test -run '^$$' -fuzz "^$${f#*:}\$$" -fuzztime $(N)x -fuzzminimizetime 5x "$${f%:*}" || exit 1; \
		fi; \
	done

record: ## measure this machine into docs/bench: make record NAME=graviton4
	docs/bench/record.sh $(NAME)

bench: ## benchmarks into new.txt: make bench RUN=Ring PKG=./runqueue
	$(GO) test -run '^$$' -bench '$(RUN)' -count $(COUNT) $(PKG) | tee new.txt

compare: ## benchstat of old.txt and new.txt
	$(TOOL) benchstat old.txt new.txt

cover: ## write the coverage report cover.html
	$(GO) test -short -coverpkg=./... -coverprofile=cover.out $(PKG)
	$(GO) tool cover -html=cover.out -o cover.html

api: ## report the version under which this tree may be released
	$(TOOL) gorelease

tidy: ## fail when a go.mod is not tidy
	$(GO) mod tidy -diff
	cd bench && $(GO) mod tidy -diff
	cd internal/tools && $(GO) mod tidy -diff

hooks: ## run "make lint test" before each commit
	git config core.hooksPath .githooks

tools: $(GOLANGCI) ## build the pinned linter into the cache

$(GOLANGCI):
	@mkdir -p '$(@D)'
	GOBIN='$(@D)' GOFLAGS=-buildvcs=false CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
