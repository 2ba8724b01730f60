// What apm-data needs of opentelemetry-lib, for OTLP metrics, which the test server does
// not take: the real one brings along more modules than all the rest.
module github.com/elastic/opentelemetry-lib

go 1.26.0

require (
	go.opentelemetry.io/collector/pdata v1.58.0
	go.uber.org/zap v1.28.0
)
