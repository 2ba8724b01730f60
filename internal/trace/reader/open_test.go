package reader

import (
	"strings"
	"testing"
)

func TestFormatFaults(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Format: "apache"}, `the format "apache" is not known; use one of auto, vhost, ingress, combined,`},
		{Options{Format: "$status"}, `format "$status": the format has no request; it needs`},
		{Options{Format: "$status$request"}, "$status and $request are not separated, so nobody can tell where the first one ends; put a blank"},
		{Options{Format: "$status$args"}, "$status and $args are not separated"},
		{Options{Format: "%U %{x"}, `"%{x" has no }`},
		{Options{Format: "%U %"}, "its letter is missing"},
		{Options{Format: "%U %{%T}t"}, "%{%T}t: the time lacks its year, month"},
		{Options{Format: "%U %{%F %T %j}t"}, `has a part that is not understood; known are %Y`},
		{Options{Format: "%U %{%F at %T}t"}, `'a' is between the parts of the time`},
		{Options{Format: "json", Fields: "uri"}, `"uri" is not part of a field map; write FIELD=PATH`},
		{Options{Format: "json", Fields: "url=x,uri=y"}, `"url" is not part of a field map`},
		{Options{Format: "json", Fields: "status=x"}, "the field map has neither uri nor request"},
		{Options{Format: "json", Fields: "uri=x,latency=y:m"}, `latency has the unknown unit "m"; use s, ms, us, ns, s? or ?`},
		{Options{Format: "combined", Fields: "uri=x"}, "a field map is given for the format combined"},
		{Options{Fields: "url=x"}, `"url" is not part of a field map`},
	} {
		if err := checkFormat(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
	if err := checkFormat(Options{Format: "%U %{x", Fields: ""}); err == nil {
		t.Error("no fault")
	}
	for _, f := range Formats() {
		if err := checkFormat(Options{Format: f[0]}); err != nil {
			t.Errorf("%s: %v", f[0], err)
		}
	}
}
