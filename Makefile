# Go 1.27.3 comes through the module proxy, also where the installed Go is older and set to local.
export GOTOOLCHAIN = go1.27.3
FUZZTIME ?= 30s
TESTFLAGS ?=

.PHONY: build test check fuzz bench vectors demo man
build: ; CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/joulebox ./cmd/joulebox
test: ; go test $(TESTFLAGS) ./...
check: ; bash .ci/run fmt vet static vuln cross
fuzz: ; FUZZTIME=$(FUZZTIME) bash .ci/run fuzz
bench: build ; go run ./bench $(BENCHFLAGS)
vectors: ; go test -count=1 -v -run 'Vector|Bundles|Suite|Modules|SameCount|Recorded' ./... | grep -v 'no test files\|no tests to run'
demo: build ; sh examples/demo.sh bin/joulebox demo
man: build ; bin/joulebox man > docs/joulebox.1
