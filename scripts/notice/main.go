// Command notice writes NOTICE: the modules that are linked into takt's binary, on any system that
// takt is released for, with their versions and licences. With a folder as argument it also copies
// the licences there, because most of them must go with the binary.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// systems are those of .goreleaser.yaml; the architecture changes no import of a module.
var systems = []string{"linux", "darwin", "windows", "freebsd"}

const head = `takt
Copyright the takt authors, under the licence in the file LICENSE.

The binary of takt contains these modules. The archives and packages of a release have
their licences in the folder licenses. go run ./scripts/notice writes this file.

`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	all, err := modules(".")
	if err != nil {
		return err
	}
	text, err := notice(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile("NOTICE", text, 0o644); err != nil {
		return err
	}
	for _, folder := range args {
		if err := copyLicences(all, folder); err != nil {
			return err
		}
	}
	return nil
}

// standard is in the place of a module.
const standard = "the Go standard library"

// module is a module that is linked into the binary.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// modules are those that ./cmd/takt imports on any of the systems, by path. Go itself is the first.
func modules(folder string) ([]module, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	found := map[string]module{}
	for _, system := range systems {
		if err := linked(folder, system, found); err != nil {
			return nil, err
		}
	}
	all := []module{{Path: standard, Dir: strings.TrimSpace(string(goroot))}}
	var paths []string
	for path := range found {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		all = append(all, found[path])
	}
	return all, nil
}

func linked(folder, system string, found map[string]module) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/takt")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", system, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			found[p.Module.Path] = *p.Module
		}
	}
}

func notice(all []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(head)
	for _, m := range all {
		kind, err := m.kind()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%-64s %s\n", strings.TrimSpace(m.Path+" "+m.Version), kind)
	}
	return b.Bytes(), nil
}

// kinds are the licences by sentences that only they have. A file may contain several.
var kinds = []struct{ name, has, not string }{
	{"Apache-2.0", "Apache License", ""},
	{"MPL-2.0", "Mozilla Public License", ""},
	{"BSD-3-Clause", "Neither the name", ""},
	{"BSD-3-Clause", "may be used to endorse or promote products", ""},
	{"BSD-2-Clause", "Redistributions in binary form", "endorse or promote"},
	{"ISC", "Permission to use, copy, modify, and/or distribute", ""},
	{"MIT", "Permission is hereby granted, free of charge", ""},
}

// kind is the licence of a module. A licence that is not known is an error: somebody has to read it.
func (m module) kind() (string, error) {
	if m.Path == standard { // Go of a distribution may have its licence elsewhere
		return "BSD-3-Clause", nil
	}
	files, err := m.licences()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	var found []string
	plain := strings.Join(strings.Fields(string(text)), " ")
	for _, k := range kinds {
		if strings.Contains(plain, k.has) && (k.not == "" || !strings.Contains(plain, k.not)) && !slices.Contains(found, k.name) {
			found = append(found, k.name)
		}
	}
	if len(found) > 0 {
		return strings.Join(found, " and "), nil
	}
	return "", fmt.Errorf("%s: the licence in %s is not known; read it, and add it to kinds", m.Path, files[0])
}

// licences are the files of a module that must go with the binary; the licence itself is the first.
func (m module) licences() (files []string, err error) {
	if m.Dir == "" {
		return nil, fmt.Errorf("%s is not on this machine; run go mod download", m.Path)
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, e := range entries {
		switch name, _, _ := strings.Cut(strings.ToUpper(e.Name()), "."); {
		case e.IsDir():
		case name == "LICENSE", name == "LICENCE", name == "COPYING":
			files = append(files, filepath.Join(m.Dir, e.Name()))
		case strings.HasPrefix(name, "LICENSE-"), name == "NOTICE", name == "PATENTS":
			others = append(others, filepath.Join(m.Dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no file LICENSE; look for its licence", m.Path)
	}
	return append(files, others...), nil
}

func copyLicences(all []module, folder string) error {
	for _, m := range all {
		files, err := m.licences()
		if err != nil {
			return err
		}
		to := filepath.Join(folder, strings.ReplaceAll(m.Path, " ", "-"))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
