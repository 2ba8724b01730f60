package format

import _ "embed"

// reportSchema is written by hand, and held to takt.Report by a test.
//
//go:embed schema/report-v1.schema.json
var reportSchema string

// ReportSchema is the JSON Schema (draft 2020-12) of what the format json writes.
func ReportSchema() string { return reportSchema }
