//go:build real

package apmserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/taktload/takt/internal/process"
)

// realDocker is the engine that scripts/servers has started, with a Dockerfile FROM
// scratch: the programs of both branches lie beside it, by the hash of the commit, since
// without a registry nothing can be built in a container.
func realDocker(t *testing.T) *Docker {
	t.Helper()
	clone := newRealClone(t)
	c, err := NewCheckout(clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, branch := range []string{"main", "lossy"} {
		r, err := c.Switch(t.Context(), Switch{Branch: "origin/" + branch, Checkout: true, Make: true}, t.Output())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(clone, program), filepath.Join(dir, r.Hash)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "Dockerfile")
	if err := os.WriteFile(file, []byte("FROM scratch\nARG ref\nCOPY ${ref} /apm-server\nENTRYPOINT [\"/apm-server\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := NewDocker(Location{Dockerfile: file, Repository: clone + ".git"}, os.Getenv("TAKT_DOCKER"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// As TestRealTrial, in containers of images that are built once a revision.
func TestRealDocker(t *testing.T) {
	d, documents := realDocker(t), realDocuments(t)
	for branch, index := range map[string]float64{"main": 1, "lossy": 0.8} {
		t.Run(branch, func(t *testing.T) {
			for _, want := range []string{"building takt-apm-server:" + branch + "-", "the image of "} {
				var out strings.Builder
				r, err := d.Switch(t.Context(), Switch{Branch: "origin/" + branch, Verbose: true}, &out)
				if err != nil || r.Branch != branch || r.Date.IsZero() || !strings.HasPrefix(out.String(), want) {
					t.Fatalf("%+v, %v\n%s", r, err, out.String())
				}
			}
			o := Options{Log: process.NewLog(), MemoryLimit: 1 << 30, CPULimit: 1.5, Flags: roomy(), Patience: patience}
			trial := Trial{Server: d, Documents: documents, Load: closedLoop(10, 4, 2, time.Second), Options: o, Out: t.Output(), Least: time.Second}
			r, err := trial.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkTrial(t, r, index)
			checkMemory(t, r, o.Log)
			if v := r.Variables; v["apm_host"] != "docker" || v["memory_limit_bytes"] != int64(1<<30) || v["cpu_limit"] != 1.5 {
				t.Errorf("%v", v)
			}
		})
	}
	var table strings.Builder
	images, err := d.Images(t.Context())
	if err != nil || len(images) != 2 || PrintImages(&table, images) != nil {
		t.Errorf("%+v, %v", images, err)
	}
	t.Log("\n" + table.String())
	t.Run("limits", func(t *testing.T) { limits(t, d, documents) })
	t.Run("orphans", func(t *testing.T) { orphans(t, d, documents) })
	for _, i := range images {
		if _, err := d.engine.ImageRemove(t.Context(), i.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil {
			t.Error(err)
		}
	}
}

// limits: the engine has them, and a server that breaks one is killed, and says so.
func limits(t *testing.T, d *Docker, documents *Documents) {
	r, err := d.Start(t.Context(), Options{Output: documents.Output(), MemoryLimit: 100e6, CPULimit: 0.5, Log: process.NewLog(), Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.engine.ContainerList(t.Context(), client.ContainerListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatal(all, err)
	}
	c, err := d.engine.ContainerInspect(t.Context(), all.Items[0].ID, client.ContainerInspectOptions{})
	if h := c.Container.HostConfig; err != nil || h.Memory != 100e6/4096*4096 && h.Memory != 100e6 || h.MemorySwap != h.Memory || h.NanoCPUs != 5e8 {
		t.Errorf("%+v, %v", h.Resources, err)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	trial := Trial{Server: d, Documents: documents, Load: closedLoop(100, 10, 4, 10*time.Second), Options: Options{MemoryLimit: 6 << 20, Patience: patience}}
	report, err := trial.Run(t.Context())
	if err == nil || report == nil || !strings.Contains(err.Error(), "by the memory limit?") {
		t.Errorf("with 6 MiB: %v", err)
	}
}

// orphans: a container whose takt has gone is removed, one of another takt is not.
func orphans(t *testing.T, d *Docker, documents *Documents) {
	ids := map[string]string{}
	for name, owner := range map[string]string{"gone": namespace() + " 99999999 1", "mine": self()} {
		c, err := d.engine.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Config:     &container.Config{Image: d.image, Cmd: (&Options{Output: documents.Output()}).line("127.0.0.1:0", "").args, Labels: map[string]string{labelOwner: owner}},
			HostConfig: &container.HostConfig{NetworkMode: "host", AutoRemove: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.engine.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		ids[name] = c.ID
	}
	if err := d.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := d.engine.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil || len(all.Items) != 1 || all.Items[0].ID != ids["mine"] {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := d.engine.ContainerRemove(t.Context(), ids["mine"], client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Error(err)
	}
}
