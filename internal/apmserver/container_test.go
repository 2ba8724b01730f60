package apmserver

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOfRemote(t *testing.T) {
	for _, test := range []struct{ repository, remote, want string }{
		{elasticRepository, "origin", elasticRepository},
		{elasticRepository, "axw", "https://github.com/axw/apm-server"},
		{"/srv/git/apm-server.git", "axw", "/srv/axw/apm-server.git"},
		{"apm-server", "axw", "apm-server"},
	} {
		if got := ofRemote(test.repository, test.remote); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestCommit(t *testing.T) {
	bare, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	hash := shell(t, `git -C "$1" rev-parse other`, bare)
	for _, ref := range []string{"other", hash} {
		got, err := commit(t.Context(), bare, ref)
		want := Revision{Hash: hash, Date: time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC), Subject: hash[:7] + " the server of other"}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	if _, err := commit(t.Context(), bare, "nothing"); err == nil || !strings.Contains(err.Error(), "has no nothing that can be fetched") {
		t.Error(err)
	}
}

// Equal folders give equal keys, whatever their times; what differs gives another.
func TestBuildContext(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Dockerfile.mine")
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	key := func() string {
		text, err := buildContext(file, "")
		if err != nil {
			t.Fatal(err)
		}
		b := build{repository: "r", remote: "origin", make: "make", context: text}
		return b.key(&Revision{Hash: "h"})
	}
	write("Dockerfile.mine", "FROM scratch")
	write("sub/apm-server", "program")
	write("sub/.git/HEAD", "ref")
	first := key()
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if key() != first {
		t.Error("the key changes with a time")
	}
	text, err := buildContext(file, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if want := []string{"Dockerfile", "sub/apm-server"}; !slices.Equal(names, want) {
		t.Errorf("%s, want %s", names, want)
	}
	write("sub/apm-server", "another")
	if key() == first {
		t.Error("the key does not change with a file")
	}
	if err := os.Truncate(filepath.Join(dir, "sub/apm-server"), contextBytes); err != nil {
		t.Fatal(err)
	}
	if _, err := buildContext(file, ""); err == nil || !strings.Contains(err.Error(), "more than 256 MiB; put") {
		t.Error(err)
	}
	if text, err := buildContext("", ""); err != nil || !bytes.Contains(text, []byte("ARG repository")) {
		t.Error(err)
	}
}

// What a folder of a named one was when it was chosen may be a link when its image is built: nothing of
// outside goes to the engine.
func TestBuildContextStaysInside(t *testing.T) {
	home := t.TempDir()
	folder, outside := filepath.Join(home, "clone"), filepath.Join(home, "outside")
	for _, dir := range []string{folder + "/a/docker", outside + "/docker"} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(dir+"/Dockerfile", []byte("FROM "+filepath.Base(filepath.Dir(filepath.Dir(dir)))), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	file := folder + "/a/docker/Dockerfile"
	if text, err := buildContext(file, folder); err != nil || !bytes.Contains(text, []byte("FROM clone")) {
		t.Errorf("%v, %s", err, text)
	}
	if err := errors.Join(os.RemoveAll(folder+"/a"), os.Symlink(outside, folder+"/a")); err != nil {
		t.Skip(err)
	}
	if text, err := buildContext(file, folder); err == nil || len(text) > 0 {
		t.Errorf("%v, %s", err, text)
	}
	if path, err := dockerfile(file, folder); err == nil {
		t.Error(path)
	}
	if _, err := dockerfile(outside+"/docker/Dockerfile", folder); err == nil {
		t.Error("a Dockerfile beside the folder is accepted")
	}
	if path, err := dockerfile(outside+"/docker/Dockerfile", ""); err != nil || path != outside+"/docker/Dockerfile" {
		t.Errorf("the owner's: %s, %v", path, err)
	}
}

// The engine answers 200, then the build fails.
func TestFollow(t *testing.T) {
	said := `{"stream":"Step 1/2 : FROM scratch\n"}` + "\n" + `{"stream":"boom\n"}`
	failed := said + `{"errorDetail":{"code":2,"message":"make returned 2"},"error":"make returned 2"}`
	for _, test := range []struct {
		body    string
		verbose bool
		out     string
		err     string
	}{
		{said, false, "", ""},
		{said, true, "Step 1/2 : FROM scratch\nboom\n", ""},
		{failed, false, "Step 1/2 : FROM scratch\nboom\n", "the image was not built: make returned 2"},
		{said + "{", false, "", "the build broke off: unexpected EOF"},
	} {
		var out strings.Builder
		err := follow(strings.NewReader(test.body), test.verbose, &out)
		if out.String() != test.out || test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
			t.Errorf("%+v: %q, %v", test, out.String(), err)
		}
	}
}

func TestTagOf(t *testing.T) {
	for branch, want := range map[string]string{"main": "main", "feature/ü": "feature__", ".-x": "x", strings.Repeat("a", 99): strings.Repeat("a", 80)} {
		if got := tagOf(branch); got != want {
			t.Errorf("%s: %s", branch, got)
		}
	}
}

func TestNewDocker(t *testing.T) {
	for host, want := range map[string]string{"tcp://h:2375": "is not on this machine", "": "there is no file"} {
		if _, err := NewDocker(Location{Dockerfile: "/nowhere/Dockerfile"}, host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
	d, err := NewDocker(Location{}, "unix://"+filepath.Join(t.TempDir(), "no.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "apm switch BRANCH") {
		t.Error(err)
	}
	if _, err := d.Images(t.Context()); err == nil || !strings.Contains(err.Error(), "no Docker engine answers") {
		t.Error(err)
	}
	if d.Location().String() != "docker" || errors.Unwrap(err) != nil {
		t.Error(d.Location())
	}
}

func TestPrintImages(t *testing.T) {
	images := []Image{{Name: "takt-apm-server:main-0123456789ab", Revision: Revision{Branch: "main", Hash: "0123456789abcdef", Date: time.Unix(0, 0).UTC()}, Created: time.Unix(60, 0), Bytes: 20e6}, {ID: "sha256:1"}}
	var b strings.Builder
	if err := PrintImages(&b, images); err != nil || !strings.HasPrefix(b.String(), "image                              branch  revision      revision date   size    built\ntakt-apm-server:main-0123456789ab  main    0123456789ab  70-01-01 00:00  20.0Mb  1970-01-01T00:01:00Z\nsha256:1 ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
