package apmserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/taktload/takt/internal/process"
)

// labelOwner is the label of a container with its takt process.
const labelOwner = "takt.owner"

// Start runs the image on a free port of this machine. It first removes containers of killed
// takt processes, which the engine cannot recognise.
func (d *Docker) Start(ctx context.Context, o Options) (*Running, error) {
	if d.Revision().Hash == "" {
		return nil, errors.New("no image is built; build it with: apm switch BRANCH")
	}
	if err := d.sweep(ctx); err != nil {
		return nil, err
	}
	address, stats, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	l := o.line(address, stats)
	fmt.Fprintf(o.out(), "%s %s\n", d.image, strings.Join(l.args, " "))
	created, err := d.engine.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: d.image, Cmd: l.args, Env: l.env, AttachStdout: true, AttachStderr: true, Labels: map[string]string{labelOwner: self()}},
		HostConfig: o.hostConfig(),
	})
	if err != nil {
		return nil, fmt.Errorf("no container of %s: %w", d.image, err)
	}
	r, err := d.begin(ctx, created.ID, &o)
	if err != nil {
		_, _ = d.engine.ContainerRemove(context.WithoutCancel(ctx), created.ID, client.ContainerRemoveOptions{Force: true}) // the first error is the cause
		return nil, err
	}
	r.URLs, r.stats, r.secret = []string{"http://" + address}, "http://"+stats+"/stats", o.Secret
	return r, r.await(ctx, &o)
}

// hostConfig sets the limits: with equal limits for memory and swap there is no swap.
func (o *Options) hostConfig() *container.HostConfig {
	return &container.HostConfig{
		NetworkMode: "host", AutoRemove: true,
		Resources: container.Resources{Memory: o.MemoryLimit, MemorySwap: o.MemoryLimit, NanoCPUs: int64(o.CPULimit * 1e9)},
	}
}

// begin starts the container. Its output goes to the log from the first line on.
func (d *Docker) begin(ctx context.Context, id string, o *Options) (*Running, error) {
	life := context.WithoutCancel(ctx)
	output, err := d.engine.ContainerAttach(life, id, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, err
	}
	ended := d.engine.ContainerWait(life, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	if _, err := d.engine.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		output.Close()
		return nil, fmt.Errorf("the container does not start: %w; has the image an ENTRYPOINT that is apm-server?", err)
	}
	o.Log.Started()
	c := &contained{done: make(chan struct{})}
	go c.watch(output, ended, o.Log)
	there, err := d.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	r := &Running{Managed: true, done: c.done, err: func() error { return c.err }, stop: func() error { return d.stop(life, id, c) }}
	if err == nil { // otherwise the container may have ended: watch knows why
		r.pid = there.Container.State.Pid
	}
	return r, nil
}

// contained is the end of a container.
type contained struct {
	done chan struct{}
	err  error // how it ended; valid once done is closed
}

// watch copies the output to its end, then waits for the container's end.
func (c *contained) watch(output client.ContainerAttachResult, ended client.ContainerWaitResult, log *process.Log) {
	defer close(c.done)
	defer output.Close()
	var to io.Writer = io.Discard
	if log != nil {
		to = log
	}
	_, _ = stdcopy.StdCopy(to, to, output.Reader) // the output ends with the container
	select {
	case w := <-ended.Result:
		c.err = fmt.Errorf("apm-server has ended: exit status %d", w.StatusCode)
		if w.StatusCode == 137 {
			c.err = fmt.Errorf("%w, which is killed; by the memory limit?", c.err)
		}
	case err := <-ended.Error:
		c.err = fmt.Errorf("the container is lost: %w", err)
	}
}

// stop asks the container to end; the engine kills it after stopTime.
func (d *Docker) stop(ctx context.Context, id string, c *contained) error {
	select {
	case <-c.done:
		return nil
	default:
	}
	seconds := int(stopTime.Seconds())
	if _, err := d.engine.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds}); err != nil {
		return fmt.Errorf("the container %.12s does not stop: %w; stop it with: docker rm -f %.12s", id, err, id)
	}
	<-c.done
	return nil
}

// sweep removes the containers of ended takt processes.
func (d *Docker) sweep(ctx context.Context) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	all, err := d.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelOwner)})
	if err != nil {
		return err
	}
	for _, c := range all.Items {
		if !alive(c.Labels[labelOwner]) {
			_, err = d.engine.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true})
		}
		if err != nil {
			return fmt.Errorf("the container %.12s of a takt that has gone cannot be removed: %w", c.ID, err)
		}
	}
	return nil
}
