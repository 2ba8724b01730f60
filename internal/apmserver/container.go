package apmserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moby/moby/client"
)

// Docker is apm-server in a container, from an image built per revision. The container uses
// the host's network: no extra network layer is measured, and a cluster on loopback is
// reachable.
type Docker struct {
	location Location
	engine   *client.Client
	also     []string // variables for git besides the plain ones
	image    string   // image of the revision
	current
}

// elasticRepository is the default repository of apm-server.
const elasticRepository = "https://github.com/elastic/apm-server"

// NewDocker is apm-server in containers of the engine at host, in the form of DOCKER_HOST; ""
// is the usual socket. It does not contact the engine yet. git sees the plain environment
// variables, and those named in also.
func NewDocker(l Location, host string, also ...string) (*Docker, error) {
	host = cmp.Or(host, client.DefaultDockerHost)
	if !strings.HasPrefix(host, "unix://") {
		return nil, fmt.Errorf("the Docker engine at %s is not on this machine, where the memory of a container can be read; give a unix:// socket as DOCKER_HOST", host)
	}
	l.Kind = KindDocker
	if l.Repository != "" && !repositoryURL.MatchString(l.Repository) {
		return nil, fmt.Errorf("%q is not a repository; give a URL such as https://github.com/elastic/apm-server", l.Repository)
	}
	var err error
	if l.Dockerfile, err = dockerfile(l.Dockerfile, l.Folder); err != nil {
		return nil, err
	}
	engine, err := client.New(client.WithHost(host))
	return &Docker{location: l, engine: engine, also: also}, err
}

// repositoryURL matches URLs and folders that git treats as a repository, and never as an
// option or a program to run.
var repositoryURL = regexp.MustCompile(`^(?:(?:https?|ssh|git|file)://[^-]|/|[\w.]+@[\w.-]+:)[^\s]*$`)

// stage matches the instruction that every Dockerfile has.
var stage = regexp.MustCompile(`(?mi)^\s*FROM\s+\S`)

// dockerfile is the absolute path of a Dockerfile. Its folder goes to the engine, so any
// other file is refused here.
func dockerfile(path, folder string) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	root, sub, err := above(path, folder)
	var f *os.File
	if err == nil {
		defer root.Close()
		f, _, err = openFile(root, filepath.ToSlash(filepath.Join(sub, filepath.Base(path))))
	}
	if err != nil {
		return "", fmt.Errorf("there is no file %s; give a Dockerfile, or none for takt's own", path)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, contextBytes))
	if err != nil {
		return "", err
	}
	if !stage.Match(text) {
		return "", fmt.Errorf("%s is not a Dockerfile: no line of it begins with FROM", path)
	}
	return path, nil
}

// Close closes the connections to the engine.
func (d *Docker) Close() error { return d.engine.Close() }

// Location implements Server.
func (d *Docker) Location() Location { return d.location }

// Switch finds the commit, and builds its image unless there is one from the same Dockerfile.
// A build always fetches, checks out and makes; only MakeUpdate changes it.
func (d *Docker) Switch(ctx context.Context, s Switch, out io.Writer) (Revision, error) {
	d.set(Revision{})
	r, image, err := d.change(ctx, &s, out)
	if err != nil {
		return Revision{}, err
	}
	d.image = image
	d.set(r)
	return r, nil
}

func (d *Docker) change(ctx context.Context, s *Switch, out io.Writer) (r Revision, image string, err error) {
	if err := s.validate(); err != nil {
		return r, "", err
	}
	remote, branch := s.split(nil)
	b := build{repository: Repository(d.location, *s), remote: remote, make: "make"}
	if s.MakeUpdate {
		b.make = "make update && make"
	}
	if r, err = commit(ctx, b.repository, cmp.Or(s.Revision, branch), d.also...); err != nil {
		return r, "", err
	}
	r.Branch = branch
	if b.context, err = buildContext(d.location.Dockerfile, d.location.Folder); err != nil {
		return r, "", err
	}
	if err = d.reach(ctx); err == nil {
		image, err = d.imageOf(ctx, b, r, s.Verbose, out)
	}
	return r, image, err
}

// reach checks that the engine answers.
func (d *Docker) reach(ctx context.Context) error {
	if _, err := d.engine.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("no Docker engine answers: %w; start it, or say where it is by DOCKER_HOST", err)
	}
	return nil
}

// Repository is the source of a container's revision.
func Repository(l Location, s Switch) string {
	remote, _ := s.split(nil)
	return ofRemote(cmp.Or(l.Repository, elasticRepository), remote)
}

// ofRemote is the remote's repository, next to the given one: on hosts such as GitHub the
// parent folder is the owner.
func ofRemote(repository, remote string) string {
	parts := strings.Split(repository, "/")
	if remote == "origin" || len(parts) < 2 {
		return repository
	}
	parts[len(parts)-2] = remote
	return strings.Join(parts, "/")
}

// commit asks a repository for a commit, without cloning it.
func commit(ctx context.Context, repository, ref string, also ...string) (r Revision, err error) {
	dir, err := os.MkdirTemp("", "takt-commit-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	at := place{dir: dir, also: also}
	for _, args := range [][]string{{"init", "-q", "--bare"}, {"fetch", "-q", "--depth", "1", "--filter=tree:0", "--", repository, ref}} {
		if _, err := at.git(ctx, args...); err != nil {
			return r, fmt.Errorf("%s has no %s that can be fetched: %w; give a branch, or the whole hash of a commit", repository, ref, errors.Unwrap(err))
		}
	}
	shown, err := at.git(ctx, "show", "-s", "--format=%H%n%cI%n%h %s", "FETCH_HEAD")
	if err == nil {
		err = r.parse(shown)
	}
	return r, err
}
