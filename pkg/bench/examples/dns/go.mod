module github.com/taktload/takt/pkg/bench/examples/dns

go 1.26.0

require (
	github.com/miekg/dns v1.1.73
	github.com/taktload/takt v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/taktload/takt => ../../../..
