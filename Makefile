# takt: every command that a developer needs. `make help` lists them.

GO      ?= go
BIN     := bin/takt
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# revision stamping needs git history; a tarball has none
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -ldflags "-s -w -X github.com/taktload/takt/internal/cli/core.Version=$(VERSION)"

# the time of the commit, not of the build: the same commit has the same labels
IMAGE_ARGS = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD 2>/dev/null || echo unknown) --build-arg CREATED=$(shell git log -1 --format=%cI 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: image oci cross release-check help build demo test test-real test-wide docker bench judge soak check check-format fmt

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/takt, static
	$(BUILD) -o $(BIN) ./cmd/takt

demo: build ## takt demo: a target that freezes, and what its users feel
	@$(BIN) demo --page bin/demo.html

test: ## all tests that need Go only; -race where things happen at once (3 to 9 minutes on two cores)
	@scripts/test

test-real: ## takt against the clock, and one suite for each protocol, store, client, web server and cluster, against real servers that scripts/servers fetches and starts (at most 14 minutes)
	@scripts/test-real

test-wide: ## further versions of servers, other brokers, Docker, Kubernetes, runners of CI systems, and example drivers, by hand (about 15 minutes; the first time 7 more)
	@scripts/test-real --wide

# What the last stage of the Dockerfile copies.
image:
	rm -rf bin/image && mkdir -p bin/image/out/data bin/image/etc/ssl/certs
	GOOS=linux $(BUILD) -o bin/image/out/takt ./cmd/takt
	cp /etc/ssl/certs/ca-certificates.crt bin/image/etc/ssl/certs/

docker: image ## build the image takt: FROM scratch, the static binary, run as a user without rights
	sed -n -e '/^FROM scratch/,$$s/--from=build //' -e '/^FROM scratch/,$$p' docker/Dockerfile | docker build -q -t takt $(IMAGE_ARGS) -f - bin/image

oci: image ## build the same image without Docker, as bin/takt-image.tar
	GOARCH=$$($(GO) env GOHOSTARCH) $(GO) run ./scripts/oci $(subst --build-arg,-arg,$(IMAGE_ARGS)) -arch $$($(GO) env GOARCH) bin/image bin/takt-image.tar

bench: ## takt beside wrk and hey, at full speed and at fixed rates, takt kafka beside the programs of Kafka, takt jms beside artemis perf; writes docs/benchmarks.md (about 40 minutes)
	@$(GO) run ./scripts/bench

judge: build ## takt judge for takt and every other load generator that can be had; a page, a picture and a table in bin/judge (45 minutes, on a quiet machine)
	@scripts/judge

soak: ## long runs and fuzzing, by hand (about 4 hours; FUZZTIME=60s for 80 minutes)
	@scripts/soak

check: check-format bin/staticcheck ## gofmt, vet, staticcheck and the tests with -race
	bin/staticcheck ./...
	$(GO) test -race ./...

bin/staticcheck: scripts/tools/go.mod scripts/tools/go.sum
	$(GO) build -C scripts/tools -o ../../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

check-format:
	@unformatted="$$(gofmt -l cmd docker internal pkg scripts)"; test -z "$$unformatted" || { echo "not gofmt'ed: $$unformatted"; exit 1; }
	$(GO) vet -tags real ./... # also what make test-real runs

release-check: ## build a whole release in dist with goreleaser, and publish nothing (10 minutes of CPU)
	@scripts/release-check

cross: ## check the types of takt for Windows, macOS, FreeBSD and arm64 (2 s of CPU)
	@$(GO) run ./scripts/cross

fmt: ## format the code
	gofmt -w cmd docker internal pkg scripts
