package format

import _ "embed"

// reportSchema is written by hand; a test compares it with takt.Report.
//
//go:embed schema/report-v1.schema.json
var reportSchema string

// ReportSchema is the JSON Schema (draft 2020-12) of the format json.
func ReportSchema() string { return reportSchema }
