package apmserver

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	o := Options{
		Flags:  strings.Fields("-E apm-server.tracing.enabled=true -d * -Equeue.mem.events=4096 -E apm-server.auth.secret_token=s3cret -E broken -E"),
		Output: Output{URL: "http://es:9200", User: "elastic", Password: "pass word"},
	}
	l := o.line("127.0.0.1:1234", "127.0.0.1:5678")
	want := []string{
		"-E", "apm-server.expvar.enabled=true", "-E", "http.enabled=true", "-E", "http.host=127.0.0.1", "-E", "http.port=5678",
		"-E", "apm-server.tracing.enabled=true", "-d", "*", "-E", "queue.mem.events=4096", "-E", "apm-server.auth.secret_token=${TAKT_SECRET_1}", "-E", "broken", "-E",
		"-E", "apm-server.host=127.0.0.1:1234", "-E", `output.elasticsearch.hosts=["http://es:9200"]`,
		"-E", "output.elasticsearch.username=${ELASTICSEARCH_USERNAME}", "-E", "output.elasticsearch.password=${ELASTICSEARCH_PASSWORD}", "-e",
	}
	if !slices.Equal(l.args, want) {
		t.Errorf("%q, want %q", l.args, want)
	}
	if want := []string{"TAKT_SECRET_1=s3cret", "ELASTICSEARCH_USERNAME=elastic", "ELASTICSEARCH_PASSWORD=pass word"}; !slices.Equal(l.env, want) {
		t.Errorf("%q, want %q", l.env, want)
	}
	if l := (&Options{}).line("h:1", ""); len(l.args) != 5 || len(l.env) != 0 {
		t.Errorf("%+v", l)
	}
}

func TestSettings(t *testing.T) {
	flags := strings.Fields("-E a.b=c=d -E apm-server.host=x -Eoutput.elasticsearch.password=p -d * -E apm-server.api_key=k -E e=1 -E e=2 -e -E")
	want := map[string]any{"a.b": "c=d", "apm-server.api_key": "xxxxx", "e": "2"}
	if got := Settings(flags); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
