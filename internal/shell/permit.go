package shell

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/apmserver"
	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/value"
)

// Anyone who can make takt run a Makefile or a program has all rights of takt's user, unless a
// sandbox confines both. So only that user's own sessions may use everything; other sessions may use the folders,
// repositories and settings that the server's owner has named.

// Denied is the error for what a session may not do. It contains no secret.
type Denied string

// Error implements error.
func (d Denied) Error() string { return string(d) }

func denied(format string, args ...any) error { return Denied(fmt.Sprintf(format, args...)) }

// folders are the folders that sessions may use, by name.
type folders map[string]string

// Set implements flag.Value.
func (f *folders) Set(text string) error {
	name, path, ok := strings.Cut(text, "=")
	switch {
	case !ok || path == "" || !door.IsName(name):
		return fmt.Errorf("bad folder %q; write NAME=PATH, such as main=/src/apm-server", text)
	case name == apmserver.KindDocker || name == "last":
		return fmt.Errorf("a folder cannot have the name %s, which apm use knows already; choose another name", name)
	}
	path, err := filepath.Abs(path)
	if *f == nil {
		*f = folders{}
	}
	(*f)[name] = path
	return err
}

// String implements flag.Value.
func (f *folders) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*f)) {
		all = append(all, name+"="+(*f)[name])
	}
	return strings.Join(all, ",")
}

// names lists the names, for errors.
func (f folders) names() string {
	if len(f) == 0 {
		return "it names none"
	}
	return "it names " + strings.Join(slices.Sorted(maps.Keys(f)), ", ")
}

// folder finds the folder that a session names, by its name or its absolute path.
func (c *session) folder(word string) (string, error) {
	o := c.server.now()
	if path, ok := o.Folders[word]; ok {
		return path, nil
	}
	path := filepath.Clean(word)
	switch {
	case slices.Contains(slices.Collect(maps.Values(o.Folders)), path):
	case !c.own:
		return "", denied("%s is not a folder of the server's --apm-folder; %s", word, o.Folders.names())
	case word == "local" && c.server.host.GoPath != "":
		path = filepath.Join(c.server.host.GoPath, "src/github.com/elastic/apm-server")
	case !filepath.IsAbs(word):
		return "", value.Faultf("%s is neither a URL, nor an absolute path, nor a name of --apm-folder; write http://HOST:8200 or /FOLDER", word)
	}
	return path, nil
}

// nameOf describes a location. Only the owner's own sessions see paths.
func (c *session) nameOf(l apmserver.Location) string {
	for name, path := range c.server.now().Folders {
		if !c.own && l.Kind == apmserver.KindCheckout && path == l.Dir {
			return name
		}
	}
	return l.String()
}

// dockerfile finds the file that a session names: NAME/FILE in a folder of --apm-folder,
// or, only in the owner's own sessions, any absolute path. Package apmserver opens it below the folder.
func (c *session) dockerfile(word string) (file, folder string, err error) {
	name, rest, _ := strings.Cut(word, "/")
	if folder, ok := c.server.now().Folders[name]; ok && filepath.IsLocal(rest) {
		file = filepath.Join(folder, rest)
		if path, err := filepath.EvalSymlinks(file); err == nil {
			inside, err := filepath.Rel(realPath(folder), path)
			if err != nil || !filepath.IsLocal(inside) { // apmserver would refuse it, too; here it is for the audit log
				return "", "", denied("%s leads out of the folder %s", word, name)
			}
			file = filepath.Join(folder, inside)
		}
		return file, folder, nil
	}
	switch {
	case c.own && filepath.IsAbs(word):
		return word, "", nil
	case c.own:
		return "", "", errContainerFlags
	}
	return "", "", denied("--dockerfile %s: write NAME/FILE, with a NAME of the server's --apm-folder; %s", word, c.server.now().Folders.names())
}

// isBelow reports whether an absolute path is in the folder, or is the folder.
func isBelow(path, folder string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}

// mayUse refuses a server that the session may not use. test and apm switch call it again
// before they are queued: a choice restored from disk may be older than the server's flags.
func (c *session) mayUse(l apmserver.Location) error {
	switch o := c.server.now(); {
	case l.Kind == apmserver.KindRemote: // loadable has checked the URLs
		return nil
	case c.own && l.Kind == apmserver.KindCheckout: // any folder
		return c.server.confinable(l.Dir)
	case c.own:
		return nil
	case l.Kind == apmserver.KindCheckout:
		_, err := c.folder(l.Dir)
		return err
	case len(o.Repositories) == 0:
		return denied("apm use docker builds and runs code from a repository, and the server allows none; its owner can name some with --apm-repository")
	case l.Dockerfile != "" && !slices.Contains(slices.Collect(maps.Values(o.Folders)), l.Folder):
		return denied("%s is not in a folder of the server's --apm-folder", l.Dockerfile)
	}
	return nil
}

// realPath is the path without symbolic links, or the path itself if it does not exist.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// mayBuild refuses a container from a repository that --apm-repository does not name.
func (c *session) mayBuild(l apmserver.Location, s apmserver.Switch) error {
	if c.own || l.Kind != apmserver.KindDocker {
		return nil
	}
	all := c.server.now().Repositories
	if from := apmserver.Repository(l, s); !slices.Contains(all, from) {
		return denied("%s is not a repository of the server's --apm-repository; it names %s", from, strings.Join(all, ", "))
	}
	return nil
}

// tuning are the settings of apm-server that every session may give: they shape its work,
// and name no path, program or other host.
func tuning() []string {
	return []string{
		"max_procs", "logging.level", "logging.metrics.*", "queue.mem.*",
		"apm-server.tracing.enabled", "apm-server.instrumentation.enabled", "apm-server.secret_token",
		"apm-server.auth.secret_token", "apm-server.auth.anonymous.*", "apm-server.auth.api_key.enabled", "apm-server.auth.api_key.limit",
		"apm-server.max_*", "apm-server.concurrent_requests", "apm-server.read_timeout", "apm-server.write_timeout",
		"apm-server.idle_timeout", "apm-server.shutdown_timeout", "apm-server.capture_personal_data",
		"apm-server.frontend.enabled", "apm-server.frontend.rate_limit", "apm-server.frontend.event_rate.*",
		"apm-server.rum.enabled", "apm-server.rum.rate_limit", "apm-server.rum.event_rate.*",
		"apm-server.aggregation.*", "apm-server.sampling.keep_unsampled", "apm-server.sampling.tail.enabled",
		"apm-server.sampling.tail.interval", "apm-server.data_streams.enabled",
		"output.elasticsearch.worker", "output.elasticsearch.workers", "output.elasticsearch.bulk_max_size",
		"output.elasticsearch.flush_bytes", "output.elasticsearch.flush_interval", "output.elasticsearch.compression_level",
		"output.elasticsearch.max_retries", "output.elasticsearch.max_requests", "output.elasticsearch.timeout",
		"output.elasticsearch.backoff.*", "output.elasticsearch.username", "output.elasticsearch.password", "output.elasticsearch.api_key",
	}
}

// untouchable matches settings that only the owner's own sessions may give, whatever
// --apm-setting says: they name files and folders, or set something up elsewhere.
var untouchable = regexp.MustCompile(`(?i)^(path|setup|keystore|apm-server\.register|output\.(file|console)|logging\.files|queue\.(spool|disk))(\.|$)` +
	`|(^|[._])(paths?|files?|filename|dir|directory|folder)(\.|$)|(^|\.)ssl(\.|$)`)

// settingName matches the name of a setting of apm-server.
var settingName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// settingPattern matches a value of --apm-setting: a name, or the beginning of names and *.
var settingPattern = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(\.\*|\*)?$`)

// checkSettings refuses values of --apm-setting that are malformed or untouchable.
func checkSettings(patterns []string) (faults []error) {
	for _, p := range patterns {
		switch {
		case !settingPattern.MatchString(p):
			faults = append(faults, value.Faultf("bad --apm-setting %q; write a name such as output.elasticsearch.pipeline, or the beginning of names such as apm-server.kibana.*", p))
		case untouchable.MatchString(strings.TrimRight(p, ".*")):
			faults = append(faults, value.Faultf("--apm-setting %s: settings that name files or set something up are for the server's owner alone; write them into apm-server.yml", p))
		}
	}
	return faults
}

// maySet refuses settings of a test, the values of -E, that the session may not give.
func (c *session) maySet(settings []string) error {
	if c.own {
		return nil
	}
	allowed := slices.Concat(tuning(), c.server.now().Settings)
	var faults []error
	for _, text := range settings {
		name := apmserver.SettingName(text)
		switch {
		case !settingName.MatchString(name):
			faults = append(faults, value.Faultf("write -E NAME=VALUE"))
		case untouchable.MatchString(name) || !slices.ContainsFunc(allowed, func(p string) bool { return covers(p, name) }):
			faults = append(faults, denied("-E %s: sessions may not give this setting; the server's owner can allow it with --apm-setting", name))
		case strings.Contains(text, "${") || strings.Contains(text, "{") && !apmserver.IsSecret(name):
			// ${NAME} reads the server's environment; { begins an object, which can contain other settings.
			faults = append(faults, denied("-E %s: write a plain value, without {", name))
		}
	}
	return errors.Join(faults...)
}

// covers reports whether a pattern allows the name of a setting.
func covers(pattern, name string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	return name == pattern || open && strings.HasPrefix(name, beginning)
}
