package apmserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/client"

	"github.com/taktload/takt/docker"
)

// Docker is apm-server in a container, of an image that is built per revision. The
// container has the network of the host: nothing between the load and the server would
// be measured with it, and a cluster on loopback is reached.
type Docker struct {
	location Location
	engine   *client.Client
	revision Revision
	image    string // of revision
}

// elasticRepository is where apm-server comes from unless a location says otherwise.
const elasticRepository = "https://github.com/elastic/apm-server"

// NewDocker is apm-server in containers of the engine at host, as in DOCKER_HOST; "" is
// the usual socket. It asks the engine nothing yet.
func NewDocker(l Location, host string) (*Docker, error) {
	host = cmp.Or(host, client.DefaultDockerHost)
	if !strings.HasPrefix(host, "unix://") {
		return nil, fmt.Errorf("the Docker engine at %s is not on this machine, where the memory of a container can be read; give a unix:// socket as DOCKER_HOST", host)
	}
	l.Kind = KindDocker
	if l.Dockerfile != "" {
		path, err := filepath.Abs(l.Dockerfile)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("there is no file %s; give a Dockerfile, or none for takt's own", path)
		}
		l.Dockerfile = path
	}
	engine, err := client.New(client.WithHost(host))
	return &Docker{location: l, engine: engine}, err
}

// Close gives the connections to the engine back.
func (d *Docker) Close() error { return d.engine.Close() }

// Location implements Server.
func (d *Docker) Location() Location { return d.location }

// Revision implements Server.
func (d *Docker) Revision() Revision { return d.revision }

// Switch finds out which commit is meant, and builds its image unless there is one of
// the same Dockerfile. To fetch, check out and make is what a build does; only
// MakeUpdate changes it.
func (d *Docker) Switch(ctx context.Context, s Switch, out io.Writer) (Revision, error) {
	d.revision, d.image = Revision{}, ""
	if err := s.validate(); err != nil {
		return d.revision, err
	}
	remote, branch := s.split(nil)
	b := build{repository: ofRemote(cmp.Or(d.location.Repository, elasticRepository), remote), remote: remote, make: "make"}
	if s.MakeUpdate {
		b.make = "make update && make"
	}
	r, err := commit(ctx, b.repository, cmp.Or(s.Revision, branch))
	if err != nil {
		return d.revision, err
	}
	r.Branch = branch
	if b.context, err = buildContext(d.location.Dockerfile); err != nil {
		return d.revision, err
	}
	if err := d.reach(ctx); err != nil {
		return d.revision, err
	}
	image, err := d.imageOf(ctx, b, r, s.Verbose, out)
	if err != nil {
		return d.revision, err
	}
	d.revision, d.image = r, image
	return r, nil
}

// reach says whether the engine answers.
func (d *Docker) reach(ctx context.Context) error {
	if _, err := d.engine.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("no Docker engine answers: %w; start it, or say where it is by DOCKER_HOST", err)
	}
	return nil
}

// ofRemote is the repository of that name beside the given one: on hosts such as GitHub
// the folder above it is its owner.
func ofRemote(repository, remote string) string {
	parts := strings.Split(repository, "/")
	if remote == "origin" || len(parts) < 2 {
		return repository
	}
	parts[len(parts)-2] = remote
	return strings.Join(parts, "/")
}

// commit asks a repository for a commit, without a clone of it.
func commit(ctx context.Context, repository, ref string) (r Revision, err error) {
	dir, err := os.MkdirTemp("", "takt-commit-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	for _, args := range [][]string{{"init", "-q", "--bare"}, {"fetch", "-q", "--depth", "1", "--filter=tree:0", repository, ref}} {
		if _, err := git(ctx, dir, args...); err != nil {
			return r, fmt.Errorf("%s has no %s that can be fetched: %w; give a branch, or the whole hash of a commit", repository, ref, errors.Unwrap(err))
		}
	}
	shown, err := git(ctx, dir, "show", "-s", "--format=%H%n%cI%n%h %s", "FETCH_HEAD")
	if err == nil {
		err = r.parse(shown)
	}
	return r, err
}

// ownDockerfile is takt's, if the user gave none.
func ownDockerfile() string { return docker.APMServer() }
