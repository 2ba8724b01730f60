module github.com/taktload/takt/pkg/bench/examples/nats

go 1.26.0

require (
	github.com/nats-io/nats.go v1.55.0
	github.com/taktload/takt v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/taktload/takt => ../../../..
