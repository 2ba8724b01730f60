package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entries are the files of a tar.
func entries(t *testing.T, from io.Reader) map[string]*tar.Header {
	t.Helper()
	all := map[string]*tar.Header{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		h.Linkname = string(data)
		all[h.Name] = h
	}
}

// The image is that of the Dockerfile: every blob has the digest that leads to it, the files have their owners,
// and the same files make the same bytes.
func TestImage(t *testing.T) {
	t.Chdir("../..")
	root, made := t.TempDir(), [2][]byte{}
	for path, text := range map[string]string{"out/takt": "program", "out/data/": "", "etc/ssl/certs/ca-certificates.crt": "authorities"} {
		path = filepath.Join(root, path) + strings.Repeat("/", strings.Count(path, "data/"))
		if err := os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range made {
		im := newImage()
		im.Architecture, im.args["VERSION"], im.args["CREATED"] = "arm64", "1.2.3", "2026-11-30T12:00:00Z"
		to := filepath.Join(t.TempDir(), "image.tar")
		if err := im.make(root, to); err != nil {
			t.Fatal(err)
		}
		made[i], _ = os.ReadFile(to)
	}
	all := entries(t, bytes.NewReader(made[0]))
	again := entries(t, bytes.NewReader(made[1]))
	blob := func(d descriptor, v any) []byte {
		h := all["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if h == nil || digest([]byte(h.Linkname)) != d.Digest || len(h.Linkname) != d.Size {
			t.Fatalf("no blob for %+v", d)
		}
		if again[h.Name] == nil {
			t.Errorf("%s is not made again", d.MediaType)
		}
		if v != nil {
			if err := json.Unmarshal([]byte(h.Linkname), v); err != nil {
				t.Fatal(err)
			}
		}
		return []byte(h.Linkname)
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal([]byte(all["index.json"].Linkname), &index); err != nil || len(index.Manifests) != 1 || all["oci-layout"] == nil {
		t.Fatalf("%v, %+v", err, index)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blob(index.Manifests[0], &manifest)
	var c image
	blob(manifest.Config, &c)
	if c.Architecture != "arm64" || c.Created != "2026-11-30T12:00:00Z" || c.Config.User != "10001:10001" || c.Config.Entrypoint[0] != "/takt" || c.Config.WorkingDir != "/data" ||
		c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" || c.Config.Labels["org.opencontainers.image.revision"] != "unknown" || len(c.Config.Env) != 2 {
		t.Errorf("configuration %+v", c)
	}
	z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil)))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(z)
	if err != nil || c.RootFS.DiffIDs[0] != digest(layer) {
		t.Errorf("%v, digests %v", err, c.RootFS.DiffIDs)
	}
	files := entries(t, bytes.NewReader(layer))
	if h := files["takt"]; h == nil || h.Mode != 0o755 || h.Linkname != "program" || files["data/"] == nil || files["data/"].Uid != 10001 || files["etc/ssl/certs/ca-certificates.crt"] == nil {
		t.Errorf("files %v", files)
	}
}

func TestUnknownInstruction(t *testing.T) {
	for _, line := range []string{"RUN make", "COPY a b c", "COPY --link a b", "LABEL a=b", "ENTRYPOINT /takt"} {
		if err := newImage().read("FROM golang\nFROM scratch\n" + line + "\n"); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}
