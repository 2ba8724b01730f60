module github.com/taktload/takt/pkg/bench/examples/mqtt

go 1.26.0

require (
	github.com/eclipse/paho.mqtt.golang v1.5.1
	github.com/taktload/takt v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sync v0.17.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/taktload/takt => ../../../..
