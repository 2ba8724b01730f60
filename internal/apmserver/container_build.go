package apmserver

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	api "github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/taktload/takt/docker"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/process"
)

// Labels of takt's images and containers.
const (
	labelKey     = "takt.key"     // of an image: hash of its sources
	labelSubject = "takt.subject" // of an image: short hash and subject of the commit
	labelPrefix  = "takt."        // before branch, revision and revision_date
)

// build is the input of an image.
type build struct {
	repository, remote, make string
	context                  []byte // tar that includes the Dockerfile
}

// args are the build arguments.
func (b *build) args(r *Revision) map[string]*string {
	return map[string]*string{"repository": &b.repository, "remote": &b.remote, "ref": &r.Hash, "make": &b.make}
}

// key is equal for equal images.
func (b *build) key(r *Revision) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q ", b.repository, b.remote, b.make, r.Hash)
	h.Write(b.context)
	return hex.EncodeToString(h.Sum(nil))
}

// imageOf returns the image of the revision, and builds it if necessary.
func (d *Docker) imageOf(ctx context.Context, b build, r Revision, verbose bool, out io.Writer) (string, error) {
	key := b.key(&r)
	there, err := d.engine.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelKey+"="+key)})
	if err != nil {
		return "", err
	}
	if len(there.Items) > 0 {
		fmt.Fprintf(out, "the image of %.12s is there\n", r.Hash)
		return append(there.Items[0].RepoTags, there.Items[0].ID)[0], nil
	}
	tag := "takt-apm-server:" + tagOf(r.Branch) + "-" + r.Hash[:12]
	fmt.Fprintf(out, "building %s\n", tag)
	answer, err := d.engine.ImageBuild(ctx, bytes.NewReader(b.context), client.ImageBuildOptions{
		Version: api.BuilderV1, // the other builder needs a session, and a plugin of the docker command
		Tags:    []string{tag}, BuildArgs: b.args(&r), Remove: true, ForceRemove: true,
		Labels: map[string]string{
			labelKey: key, labelSubject: r.Subject, labelPrefix + stored.LabelBranch: r.Branch,
			labelPrefix + stored.LabelRevision: r.Hash, labelPrefix + stored.LabelRevisionDate: r.Date.Format(time.RFC3339),
		},
	})
	if err != nil {
		return "", fmt.Errorf("the image was not built: %w", err)
	}
	defer answer.Body.Close()
	return tag, follow(answer.Body, verbose, out)
}

// tagOf converts a branch's name to a valid tag.
func tagOf(branch string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, fmt.Sprintf("%.80s", strings.TrimLeft(branch, ".-")))
}

// follow shows the output of the build. The engine answers 200 before it begins, so errors
// come as messages.
func follow(body io.Reader, verbose bool, out io.Writer) error {
	last := process.NewLog()
	to := io.Writer(last)
	if verbose {
		to = out
	}
	for messages := json.NewDecoder(body); ; {
		var m jsonstream.Message
		err := messages.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the build broke off: %w", err)
		case m.Error != nil:
			process.Print(out, last.Tail(linesOnFailure, ""), false)
			return fmt.Errorf("the image was not built: %w", m.Error)
		}
		fmt.Fprint(to, m.Stream)
	}
}

// contextBytes limits what is sent to the engine with a Dockerfile: a whole home directory
// would be a mistake.
const contextBytes = 256 << 20

// buildContext is the folder of the Dockerfile, or takt's own Dockerfile alone. Files have no
// times, so that equal files give equal bytes. What the folder has may have changed since it was chosen: a
// job before this one may have put a link there.
func buildContext(dockerfile, folder string) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	if dockerfile == "" {
		text := docker.APMServer()
		_ = t.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(text))})
		_, _ = io.WriteString(t, text)
		return b.Bytes(), t.Close()
	}
	root, sub, err := above(dockerfile, folder)
	if err != nil {
		return nil, fmt.Errorf("the folder of %s cannot be sent to the engine: %w", dockerfile, err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), sub, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err == nil && e.IsDir() && e.Name() == ".git": // large, and different in each clone
			return fs.SkipDir
		case err != nil || !e.Type().IsRegular():
			return err
		}
		name := strings.TrimPrefix(at, sub+"/")
		if at == path.Join(sub, filepath.Base(dockerfile)) {
			name = "Dockerfile"
		}
		return addFile(t, &b, root, at, name)
	})
	if err != nil {
		return nil, fmt.Errorf("the folder of %s cannot be sent to the engine: %w", dockerfile, err)
	}
	return b.Bytes(), t.Close()
}

// above opens the folder that a Dockerfile may not lead out of, and returns the Dockerfile's folder in it.
func above(dockerfile, folder string) (root *os.Root, sub string, err error) {
	dir := filepath.Dir(dockerfile)
	folder = cmp.Or(folder, dir)
	if sub, err = filepath.Rel(folder, dir); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(folder)
	return root, filepath.ToSlash(sub), err
}

// openFile opens a file below root. It does not wait for the other end of a pipe.
func openFile(root *os.Root, at string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: at, Err: errors.New("not a file")}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func addFile(t *tar.Writer, b *bytes.Buffer, root *os.Root, at, name string) error {
	f, info, err := openFile(root, at)
	if err != nil {
		return err
	}
	defer f.Close()
	if int64(b.Len())+info.Size() > contextBytes {
		return fmt.Errorf("it holds more than %d MiB; put the Dockerfile and what it copies into a folder of their own", contextBytes>>20)
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
