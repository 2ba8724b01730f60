module github.com/taktload/takt/pkg/bench/examples/postgres

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/taktload/takt v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/taktload/takt => ../../../..
