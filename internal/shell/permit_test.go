package shell

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/apmserver"
)

// A session that is not the owner's own gives apm-server settings that shape its work, and
// none with which it would read or write a file, or reach another host.
func TestSettings(t *testing.T) {
	s := &Server{options: Options{Permits: Permits{Settings: []string{"apm-server.kibana.*", "output.elasticsearch.pipeline"}}}}
	guest, owner := &session{server: s}, &session{server: s, own: true}
	for setting, allowed := range map[string]bool{
		"apm-server.tracing.enabled=true":              true,
		"queue.mem.events=4096":                        true,
		"output.elasticsearch.bulk_max_size=50":        true,
		"output.elasticsearch.api_key=a:b":             true,
		"apm-server.max_event_size=307200":             true,
		"apm-server.kibana.enabled=true":               true,
		"output.elasticsearch.pipeline=x":              true,
		"=queue.mem.events=4096":                       true, // -E== is -E to takt
		"path.data=/tmp/x":                             false,
		"=path.data=/tmp/x":                            false,
		"PATH.data=/tmp/x":                             false,
		"path={data: /tmp/x}":                          false,
		"apm-server.kibana.ssl.certificate=/x":         false,
		"apm-server.kibana.path=/x":                    false,
		"output.file.path=/tmp":                        false,
		"output.file={path: /tmp}":                     false,
		"output={file: {path: /tmp}}":                  false,
		"output.elasticsearch.hosts=[10.0.0.1]":        false,
		"output.elasticsearch.ssl.key=/etc/shadow":     false,
		"output.elasticsearch.pipelines=x":             false,
		"setup.template.enabled=true":                  false,
		"setup.template.json.path=/etc/passwd":         false,
		"logging.files.path=/tmp":                      false,
		"logging.to_files=true":                        false,
		"queue.disk.path=/tmp":                         false,
		"queue.spool.file.path=/tmp":                   false,
		"apm-server.register.ingest.pipeline.path=/x":  false,
		"apm-server.auth.api_key.elasticsearch.hosts=": false,
		"apm-server.rum.source_mapping.enabled=true":   false,
		"http.host=0.0.0.0":                            false,
		"monitoring.elasticsearch.hosts=[10.0.0.1]":    false,
		"queue.mem.events=${HOME}":                     false,
		"queue.mem.events":                             false,
		"apm-server.kibana.x={ssl: {key: /x}}":         false,
		"output.elasticsearch.password=a{b$c":          true,
		"output.elasticsearch.password=${HOME}":        false,
		"":                                             false,
		"-c=/etc/passwd":                               false,
		" queue.mem.events=1":                          false,
	} {
		if err := guest.maySet([]string{setting}); (err == nil) != allowed {
			t.Errorf("-E %s: %v", setting, err)
		}
		if err := owner.maySet([]string{setting}); err != nil {
			t.Errorf("-E %s of the owner: %v", setting, err)
		}
	}
}

// What --apm-setting names is held to names, and to those that can be allowed at all.
func TestCheckSettings(t *testing.T) {
	for _, pattern := range []string{"a", "apm-server.kibana.*", "output.elasticsearch.pipe*", "max_procs"} {
		if faults := checkSettings([]string{pattern}); len(faults) > 0 {
			t.Errorf("%s: %v", pattern, faults)
		}
	}
	for _, pattern := range []string{"", "*", "a.*.b", "a=b", "path.*", "path", "path*", "output.file.*", "setup.*", "logging.files.*", "a.ssl.*", "a.storage_dir"} {
		if faults := checkSettings([]string{pattern}); len(faults) != 1 {
			t.Errorf("%s: %v", pattern, faults)
		}
	}
}

// Containers are built from the repositories that are named alone: that of a remote is
// another one.
func TestMayBuild(t *testing.T) {
	const elastic, fork = "https://github.com/elastic/apm-server", "https://github.com/axw/apm-server"
	guest := &session{server: &Server{options: Options{Permits: Permits{Repositories: []string{elastic}}}}}
	for _, c := range []struct {
		l    apmserver.Location
		s    apmserver.Switch
		from string // that is refused; "": none is
	}{
		{apmserver.Location{Kind: apmserver.KindDocker}, apmserver.Switch{Branch: "main"}, ""},
		{apmserver.Location{Kind: apmserver.KindDocker}, apmserver.Switch{Branch: "origin/main"}, ""},
		{apmserver.Location{Kind: apmserver.KindDocker}, apmserver.Switch{Branch: "axw/main"}, fork},
		{apmserver.Location{Kind: apmserver.KindDocker, Repository: fork}, apmserver.Switch{Branch: "main"}, fork},
		{apmserver.Location{Kind: apmserver.KindDocker, Repository: fork}, apmserver.Switch{Branch: "elastic/main"}, ""},
		{apmserver.Location{Kind: apmserver.KindDocker, Repository: "/etc"}, apmserver.Switch{Branch: "main"}, "/etc"},
		{apmserver.Location{Kind: apmserver.KindCheckout}, apmserver.Switch{Branch: "axw/main"}, ""},
	} {
		err := guest.mayBuild(c.l, c.s)
		if c.from == "" && err != nil || c.from != "" && (err == nil || !strings.HasPrefix(err.Error(), c.from+" is not a repository of the server's --apm-repository")) {
			t.Errorf("%+v %+v: %v", c.l, c.s, err)
		}
		if err := (&session{server: guest.server, own: true}).mayBuild(c.l, c.s); err != nil {
			t.Error(err)
		}
	}
	guest.server.options.Repositories = nil
	if err := guest.mayUse(apmserver.Location{Kind: apmserver.KindDocker}); err == nil || !strings.Contains(err.Error(), "--apm-repository") {
		t.Error(err)
	}
}

func TestFolders(t *testing.T) {
	var f folders
	for _, text := range []string{"main=/src/apm-server", "local=/src/../srv/x/"} {
		if err := f.Set(text); err != nil {
			t.Error(err)
		}
	}
	if f.String() != "local=/srv/x,main=/src/apm-server" {
		t.Error(f.String())
	}
	for _, bad := range []string{"", "main", "main=", "=/x", "../x=/x", "docker=/x", "last=/x", "a b=/x", "a/b=/x"} {
		if f.Set(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
