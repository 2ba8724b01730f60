package shell

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
)

// Permits are what the server's owner has named for sessions, by flags and in the file of --team.
type Permits struct {
	Allow   []string // hosts that may be loaded; empty: all, or none if an address is beyond loopback
	Targets names    // URLs, by name

	// What sessions other than the owner's own may build and run:
	Folders      folders  // clones of apm-server, by name
	Repositories []string // sources of containers
	Settings     []string // settings of apm-server besides the usual ones; NAME* allows all that begin with NAME
}

// addFlags declares the flags that a file of --team may contain, too.
func (p *Permits) addFlags(fs *pflag.FlagSet) {
	p.addTargetFlags(fs)
	p.addApmFlags(fs)
}

func (p *Permits) addTargetFlags(fs *pflag.FlagSet) {
	fs.Var(value.List(&p.Allow), "allow-target", "`HOST[:PORT]` or network such as 10.0.0.0/8 that may be loaded, * for all; repeatable; default: all, or none if --addr or --http is beyond loopback")
	fs.Var(value.Repeated(&p.Targets), "target", "`NAME=URL` (or NAME=HOST:PORT) of a target that sessions write as @NAME and may load; repeatable; write URLs with a password into the file of --team")
}

func (p *Permits) addApmFlags(fs *pflag.FlagSet) {
	fs.Var(value.Starting(value.Repeated(&p.Folders)), "apm-folder", "`NAME=PATH` of a clone of apm-server that every user may check out, build and run; repeatable; without --token-file your own sessions may use any folder")
	fs.Var(value.List(&p.Repositories), "apm-repository", "`URL` of a repository that every user may build and run in containers; repeatable")
	fs.Var(value.List(&p.Settings), "apm-setting", "`NAME` of a setting that every user may give to apm-server with -E, besides the usual ones; NAME* allows all that begin with NAME; repeatable")
}

// clone is a copy that can be changed.
func (p *Permits) clone() Permits {
	return Permits{
		slices.Clone(p.Allow), maps.Clone(p.Targets), maps.Clone(p.Folders), slices.Clone(p.Repositories), slices.Clone(p.Settings),
	}
}

// Setting is a line of a file of settings.
type Setting struct {
	Where string // file and line, for errors
	Name  string
	Value string
}

// apply adds the settings of a team file.
func (p *Permits) apply(settings []Setting) error {
	fs := pflag.NewFlagSet("team", pflag.ContinueOnError)
	p.addFlags(fs)
	var known []string
	fs.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	var faults []error
	for _, s := range settings {
		f := fs.Lookup(s.Name)
		if f == nil {
			faults = append(faults, fmt.Errorf("%s: %s is not a setting of a team file; use %s", s.Where, s.Name, strings.Join(known, ", ")))
		} else if err := f.Value.Set(s.Value); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", s.Where, err))
		}
	}
	return errors.Join(append(faults, checkSettings(p.Settings)...)...)
}

// names are URLs by name.
type names map[string]string

// Set implements flag.Value. Its errors do not show the URL, which may contain a password.
func (n *names) Set(text string) error {
	name, address, ok := strings.Cut(text, "=")
	if !ok || !door.IsName(name) {
		return errors.New("bad target; write NAME=URL, such as shop=https://shop.example")
	}
	if hostOfTarget(address) == "" {
		return fmt.Errorf("the target %s is neither a URL nor HOST:PORT; write NAME=URL, such as shop=https://shop.example", name)
	}
	if *n == nil {
		*n = names{}
	}
	(*n)[name] = address
	return nil
}

// hostOfTarget is the host, with its port if there is one, of a URL or of host:port; "": neither.
func hostOfTarget(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" && u.Scheme != "" {
		return strings.ToLower(u.Host)
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host != "" && port != "" && !strings.ContainsAny(host, "/@") {
		return strings.ToLower(address)
	}
	return ""
}

// String implements flag.Value. It shows no passwords.
func (n *names) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*n)) {
		all = append(all, name+"="+withoutPassword((*n)[name]))
	}
	return strings.Join(all, ",")
}

// resolve replaces @NAME, at the beginning of a word or after --FLAG=, by the URL of a target.
// named has the name of each word that it changed; "": it did not. Other words that begin with @ stay as they
// are.
func (n names) resolve(words []string) (resolved, named []string) {
	resolved, named = slices.Clone(words), make([]string, len(words))
	for i, w := range words {
		before, rest := "", w
		if flag, text, ok := strings.Cut(w, "="); ok && strings.HasPrefix(flag, "-") {
			before, rest = flag+"=", text
		}
		name, is := strings.CutPrefix(rest, "@")
		path := ""
		if at := strings.IndexAny(name, "/?#"); at >= 0 {
			name, path = name[:at], name[at:]
		}
		address, known := n[name]
		if !is || !known {
			continue
		}
		if strings.HasPrefix(path, "/") {
			address = strings.TrimSuffix(address, "/")
		}
		resolved[i], named[i] = before+address+path, name
	}
	return resolved, named
}

// secret lists those of the names that resolve returned whose URLs have passwords.
func (n names) secret(named []string) (list []Named) {
	for _, name := range named {
		if u, err := url.Parse(n[name]); name != "" && err == nil && u.User != nil { // HOST:PORT is no URL, and has no password
			list = append(list, Named{"@" + name, strings.TrimSuffix(n[name], "/")})
		}
	}
	return list
}

// unnamed shows the names in an error instead of their URLs.
func unnamed(err error, named []Named) error {
	text := err.Error()
	for _, n := range named {
		text = strings.ReplaceAll(text, n.URL, n.Name)
	}
	return &shownError{text, err}
}

// asName matches a word that can only be the name of a target.
var asName = regexp.MustCompile(`^@[A-Za-z][A-Za-z0-9._-]*([/?#]|$)`)

// unresolved is the first word that looks like the name of a target, and is not the value of a
// flag; "": none.
func unresolved(words []string) string {
	for i, w := range words {
		if asName.MatchString(w) && (i == 0 || !strings.HasPrefix(words[i-1], "-")) {
			return w
		}
	}
	return ""
}

// rights are what the files of the server say now: who its users are, and what they may use.
type rights struct {
	Permits
	tokens  door.Tokens       // nil: sessions need no token
	allow   func(string) bool // nil: all targets
	reaches []string          // what jobs may reach, as package reach reads it
}

// now are the present rights.
func (s *Server) now() *rights {
	if r := s.rights.Load(); r != nil {
		return r
	}
	return &rights{Permits: s.options.Permits, reaches: reach.Everywhere()}
}

// Reload reads the token file and the team file again. With an error, everything stays as it is.
func (s *Server) Reload() error {
	r := &rights{Permits: s.options.Permits.clone(), reaches: reach.Everywhere()}
	var err error
	if s.options.TokenFile != "" {
		if r.tokens, err = door.ReadTokens(s.options.TokenFile); err != nil {
			return err
		}
	}
	if err := s.readTeam(&r.Permits); err != nil {
		return err
	}
	if !s.options.local() || len(r.Allow) > 0 {
		r.reaches = slices.Clone(r.Allow)
		for _, address := range r.Targets { // a target with a name may be loaded
			r.reaches = append(r.reaches, hostOfTarget(address))
		}
		t, err := parseTargets(r.reaches)
		if err != nil {
			return err
		}
		r.allow = t.Has
	}
	if err := s.options.checkApart(r.Folders); err != nil {
		return err
	}
	if err := s.confinables(r.Folders); err != nil {
		return err
	}
	s.rights.Store(r)
	return nil
}

func parseTargets(list []string) (reach.Targets, error) {
	t, err := reach.Parse(list)
	if err != nil {
		err = value.Faultf("bad --allow-target: %w", err)
	}
	return t, err
}

// readTeam adds the settings of the team file, which may contain passwords.
func (s *Server) readTeam(p *Permits) error {
	if s.options.Team == "" {
		return nil
	}
	text, err := door.ReadPrivate(s.options.Team)
	if err != nil {
		return fmt.Errorf("the team file cannot be read: %w; check --team", err)
	}
	settings, err := s.host.Settings(s.options.Team, string(text))
	if err == nil {
		err = p.apply(settings)
	}
	return err
}

// refresh gives the session the rights of now. It reports false if its token is gone.
func (c *session) refresh() bool {
	all := c.server.now().tokens
	if all == nil || c.token == nil || c.user == nil {
		return true
	}
	for _, t := range all {
		if t.Is(c.token) {
			c.role = t.Role
			return true
		}
	}
	return false
}

// mayEnd refuses to stop or remove the job of another user. Where a token has the role admin, that
// is for admins; else every user may do it, and the job's session is told who did.
func (c *session) mayEnd(j *job) error {
	r := c.server.now()
	if j.owner == c.user.name || c.role == door.RoleAdmin || !slices.ContainsFunc(r.tokens, func(t door.Token) bool { return t.Role == door.RoleAdmin }) {
		return nil
	}
	return denied("job %d belongs to %s, and only admins may end jobs of others; ask one of them", j.id, j.owner)
}
