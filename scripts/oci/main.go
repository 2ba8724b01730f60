// Oci makes the image of docker/Dockerfile without Docker: a tar of the layout that OCI defines
// (github.com/opencontainers/image-spec), for the platform of a binary that is built already.
//
//	oci [-arch amd64] [-arg NAME=VALUE]... ROOT FILE.tar
//
// ROOT has what the first stage would have made, such as out/takt.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	im := newImage()
	flag.StringVar(&im.Architecture, "arch", "amd64", "architecture of the binary, as Go calls it")
	flag.Func("arg", "`NAME=VALUE` of an ARG; CREATED is the image's time, too", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", text)
		}
		im.args[name] = value
		return nil
	})
	flag.Parse()
	if err := im.make(flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

// image is what a Dockerfile's last stage describes. Its JSON is the image's configuration.
type image struct {
	Created      string `json:"created,omitempty"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User         string              `json:",omitempty"`
		ExposedPorts map[string]struct{} `json:",omitempty"`
		Env          []string            `json:",omitempty"`
		Entrypoint   []string            `json:",omitempty"`
		Volumes      map[string]struct{} `json:",omitempty"`
		WorkingDir   string              `json:",omitempty"`
		Labels       map[string]string   `json:",omitempty"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`

	args  map[string]string
	copys []copied
}

// copied is a COPY: a path below the root of the first stage, and one in the image.
type copied struct {
	from, to string
	uid, gid int
}

func newImage() *image {
	im := &image{OS: "linux", args: map[string]string{}}
	im.RootFS.Type = "layers"
	return im
}

// make reads docker/Dockerfile and writes the image with what root has to a file.
func (im *image) make(root, file string) error {
	if root == "" || file == "" {
		return fmt.Errorf("give a folder and a file")
	}
	text, err := os.ReadFile("docker/Dockerfile")
	if err != nil {
		return err
	}
	if err := im.read(string(text)); err != nil {
		return fmt.Errorf("docker/Dockerfile: %w", err)
	}
	var layer bytes.Buffer
	if err := im.layer(&layer, root); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := im.write(tar.NewWriter(out), layer.Bytes()); err != nil {
		return err
	}
	return out.Close()
}

// read takes the last stage, which must begin with FROM scratch. What it does not know is an error, so that
// the image is that of Docker.
func (im *image) read(text string) error {
	_, last, ok := strings.Cut(text, "\nFROM scratch\n")
	if !ok {
		return fmt.Errorf("no stage FROM scratch")
	}
	for line := range strings.Lines(strings.ReplaceAll(last, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := im.instruct(word, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	im.Created = im.args["CREATED"]
	return nil
}

func (im *image) instruct(word, rest string) (err error) {
	c := &im.Config
	switch word {
	case "ARG":
		name, value, _ := strings.Cut(rest, "=")
		if _, given := im.args[name]; !given {
			im.args[name] = value
		}
	case "LABEL":
		c.Labels, err = im.pairs(rest)
	case "ENV":
		c.Env = append(c.Env, strings.Fields(rest)...)
	case "USER":
		c.User = rest
	case "VOLUME":
		c.Volumes = map[string]struct{}{rest: {}}
	case "WORKDIR":
		c.WorkingDir = rest
	case "EXPOSE":
		c.ExposedPorts = map[string]struct{}{rest + "/tcp": {}}
	case "ENTRYPOINT":
		err = json.Unmarshal([]byte(rest), &c.Entrypoint)
	case "COPY":
		err = im.copies(strings.Fields(rest))
	default:
		err = fmt.Errorf("this program does not know %s", word)
	}
	return err
}

// pairs reads NAME="VALUE" NAME="VALUE", and puts arguments in.
func (im *image) pairs(text string) (map[string]string, error) {
	all := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, ok := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is not NAME=\"VALUE\"", text)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		all[name] = os.Expand(value, func(arg string) string { return im.args[arg] })
		text = rest[len(quoted):]
	}
	return all, nil
}

// copies notes a COPY of one path from the first stage.
func (im *image) copies(words []string) error {
	var c copied
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if owner, ok := strings.CutPrefix(words[0], "--chown="); ok {
			if _, err := fmt.Sscanf(owner, "%d:%d", &c.uid, &c.gid); err != nil {
				return err
			}
		} else if words[0] != "--from=build" {
			return fmt.Errorf("this program does not know %s", words[0])
		}
		words = words[1:]
	}
	if len(words) != 2 {
		return fmt.Errorf("want one source and one place")
	}
	c.from, c.to = words[0], strings.Trim(words[1], "/")
	im.copys = append(im.copys, c)
	return nil
}

// layer writes the tar of the image's files, with the image's time, so that the same files result in the
// same bytes.
func (im *image) layer(to *bytes.Buffer, root string) error {
	at, _ := time.Parse(time.RFC3339, im.Created)
	w := tar.NewWriter(to)
	made := map[string]bool{}
	folder := func(name string, uid, gid int) error {
		if name == "." || made[name] {
			return nil
		}
		made[name] = true
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Uid: uid, Gid: gid, ModTime: at})
	}
	for _, c := range im.copys {
		for i, r := range c.to {
			if r == '/' {
				if err := folder(c.to[:i], 0, 0); err != nil {
					return err
				}
			}
		}
		from := filepath.Join(root, c.from)
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.ToSlash(filepath.Join(c.to, strings.TrimPrefix(path, from)))
			if d.IsDir() {
				return folder(name, c.uid, c.gid)
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return file(w, &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Uid: c.uid, Gid: c.gid, ModTime: at}, data)
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func file(w *tar.Writer, h *tar.Header, data []byte) error {
	h.Size = int64(len(data))
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// descriptor names a blob of the layout.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// The types of what a layout has.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// write writes the layout: the blobs, and the index that leads to them.
func (im *image) write(w *tar.Writer, layer []byte) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(layer); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	im.RootFS.DiffIDs = []string{digest(layer)}
	var err error
	blob := func(kind string, data []byte) descriptor {
		d := descriptor{kind, digest(data), len(data)}
		if err == nil {
			err = file(w, &tar.Header{Name: "blobs/" + strings.Replace(d.Digest, ":", "/", 1), Mode: 0o644}, data)
		}
		return d
	}
	manifest := blob(typeManifest, text(map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": blob(typeConfig, text(im)), "layers": []descriptor{blob(typeLayer, packed.Bytes())},
	}))
	for name, data := range map[string]any{
		"oci-layout": map[string]string{"imageLayoutVersion": "1.0.0"},
		"index.json": map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []any{map[string]any{
			"mediaType": manifest.MediaType, "digest": manifest.Digest, "size": manifest.Size,
			"platform":    map[string]string{"os": im.OS, "architecture": im.Architecture},
			"annotations": map[string]string{"org.opencontainers.image.ref.name": im.args["VERSION"]},
		}}},
	} {
		if err == nil {
			err = file(w, &tar.Header{Name: name, Mode: 0o644}, text(data))
		}
	}
	if err != nil {
		return err
	}
	return w.Close()
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// text is the JSON of a value that has one.
func text(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
