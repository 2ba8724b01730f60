package shell

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/apmserver"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/pkg/takt"
)

// benchCommands are the commands for apm-server and its cluster.
func benchCommands() []command {
	return []command{
		{name: "elasticsearch", args: "use URL [USER [PASSWORD]] | reset", short: "choose the cluster, or delete what apm-server wrote there", prepare: prepareElastic,
			long: `elasticsearch use URL chooses the cluster: the output of the server under test, where
takt counts its documents, and the store of your reports, unless the server has --store.
local is http://localhost:9200; last is the cluster used last; @NAME is a target of the
server. takt does not save the password: give it again after a restart.
elasticsearch reset deletes the documents that apm-server wrote; it asks first.`},
		{name: "apm", args: "use … | switch … | list | tail … | FLAGS URL…", short: "choose apm-server and its revision, or load one", prepare: prepareAPM, look: looksAtAPM,
			long: `apm use URL…                  running servers, loaded in turn; @NAME is a target that the
                              server names
apm use FOLDER                a clone of apm-server on the machine of this shell; with
                              tokens only a folder of the server's --apm-folder
apm use docker                containers, from images that takt builds of revisions;
                              --dockerfile FILE builds them in another way,
                              --repository URL has another origin than Elastic's
apm use local | last          local: the folder local of --apm-folder, or else
                              $GOPATH/src/github.com/elastic/apm-server;
                              last: the server used last
` + apmserver.SwitchUsage + `
                              fetch, check out, make update, make, verbose; -fcmv too
apm list                      the images that takt has built
apm tail [-n N | -N] [TEXT]   the last N lines of the server's log that contain TEXT,
                              default 10; after a crash, the first fatal line before them
apm FLAGS URL…                load a server, as takt apm does; help apm-load lists the
                              flags`},
		{name: "test", args: "DURATION EVENTS SPANS FRAMES WORKERS", short: "test apm-server: start it, load it, count, stop it, keep the report", prepare: prepareTest, long: testHelp},
		{name: "dump", args: "FILE EVENTS SPANS FRAMES", short: "write the body of one request of a test to a file", prepare: prepareDump,
			long: `The body is what a test with these numbers sends in each request. FILE is below the
server's folder for files, --dump-dir. help test explains the numbers.`},
	}
}

func prepareElastic(c *session, args []string) (action, error) {
	typed := args
	args, _ = c.server.now().Targets.resolve(args)
	switch {
	case len(args) >= 2 && len(args) <= 4 && args[0] == "use":
		a, err := prepareCluster(c, args[1:])
		if strings.HasPrefix(typed[1], "@") {
			a.shown = "elasticsearch use " + typed[1]
			a.secret = len(args) > 3
		}
		return a, err
	case len(args) == 1 && args[0] == "reset":
		return action{now: (*session).askReset}, nil
	}
	return action{secret: len(args) > 3 && args[0] == "use", shown: "elasticsearch"}, errors.New("write elasticsearch use URL [USER [PASSWORD]], or elasticsearch reset")
}

func prepareCluster(c *session, args []string) (action, error) {
	o := apmserver.Output{URL: args[0]}
	switch args[0] {
	case "local":
		o.URL = "http://localhost:9200"
	case "last":
		u := c.user.lastUse()
		if o.URL, o.User = u.ElasticURL, u.ElasticUser; o.URL == "" {
			return action{}, errors.New("no cluster was used before; write elasticsearch use URL")
		}
	}
	if len(args) > 1 {
		o.User = args[1]
	}
	if len(args) > 2 {
		o.Password = takt.Secret(args[2])
	}
	a := action{secret: len(args) > 2 || hasPassword(o.URL), shown: "elasticsearch use"}
	if err := c.server.loadable(o.URL); err != nil {
		return a, err
	}
	cluster, err := apmserver.OpenDocuments(o)
	if err != nil {
		return a, err
	}
	a.shown += " " + cluster.Output().URL
	a.now = func(c *session) { c.useCluster(cluster) }
	return a, nil
}

func hasPassword(text string) bool {
	u, err := url.Parse(text)
	return err != nil || u.User != nil
}

// loadable refuses URLs that --allow-target does not allow.
func (s *Server) loadable(urls ...string) error {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			continue // whoever uses the URL reports what is wrong
		}
		if allow := s.now().allow; allow != nil && !allow(u.Host) {
			return denied("%s may not be used; the server allows what --allow-target lists", u.Host)
		}
	}
	return nil
}

// useCluster makes d the cluster if d answers; otherwise the previous cluster stays.
func (c *session) useCluster(d *apmserver.Documents) {
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	if _, err := d.Health(ctx); err != nil {
		c.fail(fmt.Errorf("elasticsearch: %w", err))
		return
	}
	c.user.testbed.change(func() { c.user.testbed.cluster = d })
	c.say("using " + d.Output().URL)
	o := d.Output()
	c.keepUse(func(u *apmserver.Use) { u.ElasticURL, u.ElasticUser = o.URL, o.User })
}

func (c *session) keepUse(set func(*apmserver.Use)) {
	err := c.user.change(func(k *kept) {
		set(&k.Use)
		k.Use.LastUsed = time.Now().UTC()
	})
	if err != nil {
		c.fail(err)
	}
}

func (u *user) lastUse() apmserver.Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.kept.Use
}

// askReset counts the documents and asks; if the next line is yes, it queues their deletion.
func (c *session) askReset() {
	d := c.user.testbed.now().cluster
	if d == nil {
		c.fail(errors.New("no cluster is chosen; write elasticsearch use URL"))
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	n, err := d.Count(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	c.say(fmt.Sprintf("delete %d documents of apm-server in %s? yes or no", n, d.Output().URL))
	c.question = func(answer string) {
		if answer != "yes" {
			c.say("nothing is deleted")
			return
		}
		c.perform(action{shown: "elasticsearch reset", task: func(ctx context.Context, _ <-chan struct{}, log *log) int {
			n, whole, err := d.Delete(ctx)
			if err != nil {
				fmt.Fprintln(log, "error:", err)
				return 1
			}
			fmt.Fprintf(log, "%d documents are deleted%s\n", n, map[bool]string{true: ", with their indices"}[whole])
			return 0
		}})
	}
}

// looksAtAPM reports whether apm with these words changes nothing.
func looksAtAPM(args []string) bool {
	return len(args) > 0 && (args[0] == "list" || args[0] == "tail")
}

func prepareAPM(c *session, args []string) (action, error) {
	if len(args) == 0 {
		return action{}, errors.New("write apm use, apm switch, apm tail, or apm FLAGS URL; help apm explains them")
	}
	switch args[0] {
	case "use":
		return prepareUse(c, args[1:])
	case "switch":
		return prepareSwitch(args[1:])
	case "list":
		return action{now: (*session).listImages}, nil
	case "tail":
		return prepareTail(args[1:])
	}
	return prepareTakt(c, append([]string{"apm"}, args...))
}

func prepareUse(c *session, args []string) (action, error) {
	args, _ = c.server.now().Targets.resolve(args)
	var l apmserver.Location
	switch {
	case len(args) == 0:
		return action{}, errors.New("write apm use URL…, apm use FOLDER, apm use docker, apm use local or apm use last")
	case strings.Contains(args[0], "://"):
		l = apmserver.Location{Kind: apmserver.KindRemote, URLs: args}
		if err := c.server.loadable(args...); err != nil {
			return action{secret: slices.ContainsFunc(args, hasPassword)}, err
		}
	case args[0] == "docker":
		l.Kind = apmserver.KindDocker
		if err := c.containerFlags(&l, args[1:]); err != nil {
			return action{secret: slices.ContainsFunc(args, hasPassword)}, err
		}
	case len(args) > 1:
		return action{}, fmt.Errorf("give one folder instead of %q", strings.Join(args, " "))
	case args[0] == "last":
		if l = c.user.lastUse().Location; l.Kind == "" {
			return action{}, errors.New("no server was used before; write apm use URL")
		}
	default:
		dir, err := c.folder(args[0])
		if err != nil {
			return action{}, err
		}
		l = apmserver.Location{Kind: apmserver.KindCheckout, Dir: dir}
	}
	if err := c.mayUse(l); err != nil {
		return action{secret: slices.ContainsFunc(args, hasPassword)}, err
	}
	server, err := serverAt(l, c.server.host.Docker, c.server.box, c.server.options.Variables)
	if err != nil {
		return action{secret: slices.ContainsFunc(args, hasPassword)}, err
	}
	return action{now: func(c *session) {
		c.user.testbed.use(server)
		c.say("using " + c.nameOf(server.Location()))
		c.keepUse(func(u *apmserver.Use) { u.Location = server.Location() })
	}}, nil
}

func prepareSwitch(args []string) (action, error) {
	s, err := apmserver.ParseSwitch(args)
	if err != nil {
		return action{}, err
	}
	return action{queued: func(c *session) (task, error) {
		now := c.user.testbed.now()
		if now.server == nil {
			return nil, errNoServer
		}
		l := now.server.Location()
		if err := errors.Join(c.mayUse(l), c.mayBuild(l, s)); err != nil {
			return nil, err
		}
		testbed, name := &c.user.testbed, c.nameOf(l)
		return func(ctx context.Context, _ <-chan struct{}, log *log) int {
			r, err := now.server.Switch(ctx, s, c.seenBy(log))
			testbed.switched(now.server, r)
			if err != nil {
				fmt.Fprintln(log, "error:", c.seenError(err))
				return 1
			}
			fmt.Fprintf(log, "Using %s: %s, %s\n", name, r.Branch, describe(r))
			return 0
		}, nil
	}}, nil
}

var errNoServer = errors.New("no apm-server is chosen; write apm use URL, or apm use FOLDER")

// containerFlags reads the flags after apm use docker.
func (c *session) containerFlags(l *apmserver.Location, args []string) (err error) {
	for ; len(args) > 1; args = args[2:] {
		switch {
		case args[0] == "--dockerfile":
			if l.Dockerfile, l.Folder, err = c.dockerfile(args[1]); err != nil {
				return err
			}
		case args[0] == "--repository" && !hasPassword(args[1]):
			l.Repository = args[1]
		default:
			return errContainerFlags
		}
	}
	if len(args) > 0 {
		return errContainerFlags
	}
	return nil
}

var errContainerFlags = errors.New("write apm use docker [--dockerfile FILE] [--repository URL], with a URL that contains no password")

// listImages lists the images that takt has built.
func (c *session) listImages() {
	ctx, cancel := context.WithTimeout(c.ctx, askTime)
	defer cancel()
	d, err := apmserver.NewDocker(apmserver.Location{}, c.server.host.Docker)
	if err == nil {
		defer d.Close()
		var images []apmserver.Image
		if images, err = d.Images(ctx); err == nil {
			err = apmserver.PrintImages(c, images)
		}
	}
	if err != nil {
		c.fail(err)
	}
}

// prepareTail reads -n N, -N and a text, in any order.
func prepareTail(args []string) (action, error) {
	n, text := 10, ""
	for i := 0; i < len(args); i++ {
		number := strings.TrimPrefix(args[i], "-")
		switch {
		case args[i] == "-n" && i+1 < len(args):
			i++
			number = args[i]
		case !strings.HasPrefix(args[i], "-"):
			text = args[i]
			continue
		}
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 1 || n > process.LogLines {
			return action{}, fmt.Errorf("%q is not a number of lines from 1 to %d", number, process.LogLines)
		}
	}
	return action{now: func(c *session) {
		if log := c.user.testbed.now().log; log != nil {
			log.PrintTail(c, n, text, c.editor != nil)
		}
		c.say("\n" + time.Now().Format(time.RFC1123Z))
	}}, nil
}
