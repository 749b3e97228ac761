# Everything goes through npm's own Node 24 in node_modules/.bin, whatever the machine has.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help
N ?= 100
OUT ?= figures.json
ROLLOVERS ?= 40
COUNT ?= 2000
FROM ?= 1
EVERY ?= 1
.PHONY: help demo test unit real e2e histories sweep mutants faults plants soak bench bench-hang synth verify lint format build sandbox clean

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Not `npm ci`: it refuses a lock file without the packages of other platforms, which not every registry serves.
node_modules/.installed: package.json package-lock.json .npmrc
	@echo "installing packages from package-lock.json"
	@npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

demo: build ## a version rolls over on real servers, nothing lost (KEEP=1 stays up, NODE=real uses a kubelet)
	@node demo/main.ts

test: lint verify build ## everything below, against real servers (first run builds Kubernetes, about 6 min)
	@node build/test.ts --project unit --project real

unit: node_modules/.installed ## tests that need no server
	@node build/test.ts --project unit

real: build ## tests against a real API server and a real durable-execution server
	@node build/test.ts --project real

e2e: build ## the same story on a real kubelet with containers (Linux, root)
	@node build/test.ts --config vitest.node.config.ts

histories: node_modules/.installed ## 2,000 random histories with faults against the laws, in memory (COUNT=, FROM=)
	@node test/convergence/histories.ts --count $(COUNT) --from $(FROM)

sweep: node_modules/.installed ## eight kinds of trouble at every call of eight standard stories, in memory; prints a table
	@node test/convergence/sweep.ts

mutants: node_modules/.installed ## wrong versions of decide and act, each of which a named test must notice
	@node test/mutants/main.ts

faults: build ## ten troubles at every call of eight histories, on real servers; prints a table (EVERY=)
	@node test/faults/main.ts --every $(EVERY)

plants: build ## six bugs planted into the operator, each of which the runs of `make faults` must find
	@node test/faults/main.ts --plants

soak: build ## 40 rollovers under 20 invocations a second: none lost, none run twice (ROLLOVERS=)
	@node test/soak/main.ts --rollovers $(ROLLOVERS)

bench: build ## requests, admin calls, time and memory for N objects (N=100 OUT=figures.json)
	@node bench/main.ts --count $(N) --out $(OUT)

bench-hang: build ## what one hanging admin server costs the objects of nine others
	@node bench/hang.ts

synth: node_modules/.installed ## generate types, CRDs and install.yaml from schemas/
	@node synth/main.ts

verify: node_modules/.installed ## fail when a generated file differs from what synth makes
	@node synth/verify.ts

lint: node_modules/.installed ## types, oxlint, floating Effects, format
	@tsc --noEmit -p tsconfig.json
	@oxlint --type-aware --deny-warnings
	@effect-tsgo diagnostics --project tsconfig.json --severity error,warning --strict
	@oxfmt --check .

format: node_modules/.installed ## rewrite files in the project's format
	@oxfmt .

build: node_modules/.installed ## one runnable file: dist/operator.mjs
	@node build/bundle.ts

sandbox: node_modules/.installed ## a real Kubernetes and durable-execution server until Ctrl-C
	@node sandbox/main.ts up

clean: ## remove what was built here; `make sandbox` caches stay in the user's cache folder
	@rm -rf dist node_modules figures*.json
