package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/apmserver"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/sandbox"
)

// testbed is what a user tests: a server, and the cluster that it writes to. Its fields
// are replaced and their values never changed, so a job uses those from when it was queued.
type testbed struct {
	mu       sync.Mutex
	server   apmserver.Server // nil: none is chosen
	revision apmserver.Revision
	log      *process.Log // the server's
	cluster  *apmserver.Documents
	testing  bool // a test runs
}

// setting is a snapshot of a testbed.
type setting struct {
	server   apmserver.Server
	revision apmserver.Revision
	log      *process.Log
	cluster  *apmserver.Documents
	testing  bool
}

func (b *testbed) now() setting {
	b.mu.Lock()
	defer b.mu.Unlock()
	return setting{b.server, b.revision, b.log, b.cluster, b.testing}
}

func (b *testbed) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// use makes server the one under test.
func (b *testbed) use(server apmserver.Server) {
	b.change(func() {
		b.server, b.revision, b.log = server, apmserver.Revision{}, process.NewLog()
	})
}

// switched stores the revision of server, unless the user has chosen another server since.
func (b *testbed) switched(server apmserver.Server, r apmserver.Revision) {
	b.change(func() {
		if b.server == server {
			b.revision = r
		}
	})
}

// restore chooses the server and cluster that the user used last, if --allow-target still
// allows them. The cluster's password was not saved.
func (u *user) restore(s *state) error {
	u.mu.Lock()
	last := u.kept.Use
	u.mu.Unlock()
	var faults []error
	if last.Location.Kind != "" && s.usable(last.Location.URLs...) == nil {
		server, err := serverAt(last.Location, s.docker, s.box, s.variables)
		if err == nil {
			u.testbed.use(server)
		}
		faults = append(faults, err)
	}
	if last.ElasticURL != "" && s.usable(last.ElasticURL) == nil {
		cluster, err := apmserver.OpenDocuments(apmserver.Output{URL: last.ElasticURL, User: last.ElasticUser})
		if err == nil {
			u.testbed.change(func() { u.testbed.cluster = cluster })
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// serverAt returns the server of a location. engine is the container engine, as in
// DOCKER_HOST; box confines a checkout; variables are the names that make, git and the server see
// besides the usual ones.
func serverAt(l apmserver.Location, engine string, box *sandbox.Sandbox, variables []string) (apmserver.Server, error) {
	switch l.Kind {
	case apmserver.KindRemote:
		return apmserver.NewRemote(l.URLs...)
	case apmserver.KindCheckout:
		return apmserver.NewCheckout(l.Dir, box, variables...)
	case apmserver.KindDocker:
		return apmserver.NewDocker(l, engine, variables...)
	}
	return nil, fmt.Errorf("unknown kind of server %q; choose another server with apm use", l.Kind)
}

// askTime is the limit for one query to a cluster or a container engine beside the queue.
const askTime = 5 * time.Second

// status shows hey-apm's four parts (cluster, server, revision, queue), and where reports go.
func (c *session) status() {
	s := c.user.testbed.now()
	c.clusterStatus(s.cluster)
	c.serverStatus(s)
	c.say("Reports are kept in " + c.reportStore(s.cluster))
	current, line, lost := c.server.queue.list()
	c.sayNames()
	c.saySandbox()
	c.say(fmt.Sprintf("%d commands queued", len(line)))
	c.listJobs(current, line, lost)
}

// sayNames says which names this server has for targets and folders.
func (c *session) sayNames() {
	r := c.server.now()
	if list := slices.Sorted(maps.Keys(r.Targets)); len(list) > 0 {
		c.say("Targets: @" + strings.Join(list, ", @"))
	}
	if list := slices.Sorted(maps.Keys(r.Folders)); len(list) > 0 {
		c.say("Folders: " + strings.Join(list, ", "))
	}
}

func (c *session) clusterStatus(d *apmserver.Documents) {
	if d == nil {
		c.say("ElasticSearch: not configured (hint: elasticsearch use <url>)")
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	where := d.Output().URL
	health, err := d.Health(ctx)
	var n int64
	if err == nil {
		n, err = d.Count(ctx)
	}
	if err != nil {
		c.say(c.red(fmt.Sprintf("ElasticSearch [%s]: %v", where, err)))
		return
	}
	c.say(fmt.Sprintf("ElasticSearch [%s]: %s ,  %d docs", where, health, n))
}

func (c *session) serverStatus(s setting) {
	if s.server == nil {
		c.say("ApmServer: not configured (hint: apm use <url>" + c.folderHint() + ")")
		return
	}
	l := s.server.Location()
	state := "not running"
	switch {
	case l.Kind == apmserver.KindRemote:
		state = "not managed by takt"
	case s.testing:
		state = "running"
	}
	c.say(fmt.Sprintf("ApmServer [%s]: %s", c.nameOf(l), state))
	if s.revision.Branch == "" {
		c.say(fmt.Sprintf("Using %s: unknown branch (hint: apm switch <branch>)", c.nameOf(l)))
		return
	}
	c.say(fmt.Sprintf("Using %s: %s, %s", c.nameOf(l), s.revision.Branch, describe(s.revision)))
}

// folderHint says which folders the session may use.
func (c *session) folderHint() string {
	all := slices.Sorted(maps.Keys(c.server.now().Folders))
	switch {
	case c.own:
		return ", apm use <folder of a clone>"
	case len(all) > 0:
		return ", apm use " + all[0]
	}
	return ""
}

// describe returns the subject of the commit, or its hash if the subject is unknown.
func describe(r apmserver.Revision) string {
	text := r.Subject
	if text == "" {
		text = r.Hash
	}
	if r.Unstaged {
		text += ", with uncommitted changes"
	}
	return text
}

// reportStore names the store of this user's runs, without a password.
func (c *session) reportStore(cluster *apmserver.Documents) string {
	switch {
	case c.server.options.Store != "":
		return c.seen(withoutPassword(c.server.options.Store))
	case cluster != nil:
		return cluster.Output().URL
	}
	return "the store of takt on this machine"
}

func withoutPassword(where string) string {
	if u, err := url.Parse(where); err == nil {
		return u.Redacted()
	}
	return where
}

// storeEnv is the environment that tells a job its store. own: the job is of the server's
// owner.
func (s *Server) storeEnv(cluster *apmserver.Documents, own bool) []string {
	switch {
	case s.options.Store != "":
		return []string{"TAKT_STORE=" + s.options.Store}
	case cluster == nil:
		return nil
	}
	o := cluster.Output()
	env := []string{"TAKT_STORE=" + o.URL, "TAKT_STORE_USER=" + o.User, "TAKT_STORE_PASSWORD=" + string(o.Password)}
	if !own {
		env = append(env, "TAKT_STORE_API_KEY=") // another user's cluster must not get the owner's key
	}
	return env
}
