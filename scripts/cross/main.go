// Command cross checks the types of takt for the systems that it is released for, without compiling
// anything: a cold build of the dependencies takes 80 s of CPU for each system, this takes 1 to 2.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// targets are a system and architecture of each kind; the others of .goreleaser.yaml differ from
// one of these in the architecture only.
var targets = []string{"windows/amd64", "darwin/arm64", "freebsd/amd64", "linux/arm64"}

// roots are what takt offers to others: its program, and its library.
var roots = []string{"./cmd/takt", "./pkg/..."}

func main() {
	of := targets
	if len(os.Args) > 1 {
		of = os.Args[1:]
	}
	parsed := &sources{files: token.NewFileSet(), asts: map[string]*ast.File{}}
	failed := false
	for _, target := range of {
		faults, err := check(parsed, target, ".", roots)
		if err != nil {
			faults = append(faults, err)
		}
		for _, fault := range faults {
			failed = true
			fmt.Fprintf(os.Stderr, "cross: %s: %v\n", target, fault)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Standard   bool
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// own reports whether the package is of this repository.
func (p *pkg) own() bool { return p.Module != nil && p.Module.Main }

// check returns the faults of takt's own packages for a target. Packages come after their imports,
// as go list -deps writes them.
func check(parsed *sources, target, folder string, roots []string) (faults []error, err error) {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return nil, errors.New("a target is SYSTEM/ARCHITECTURE, such as windows/amd64")
	}
	list, err := packages(system, arch, folder, roots)
	if err != nil {
		return nil, err
	}
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, p := range list {
		if p.Error != nil {
			faults = append(faults, errors.New(p.Error.Err))
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		found, err := parsed.check(p, known, types.SizesFor("gc", arch))
		if err != nil {
			return faults, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

func packages(system, arch, folder string, roots []string) (list []*pkg, err error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,Error"}, roots...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
}

// sources are parsed files, which several targets share.
type sources struct {
	files *token.FileSet
	asts  map[string]*ast.File
}

// check checks one package and adds it to known. In packages of others it reads declarations only:
// their authors compile the bodies.
func (s *sources) check(p *pkg, known map[string]*types.Package, sizes types.Sizes) (faults []error, err error) {
	var all []*ast.File
	for _, name := range p.GoFiles {
		f, err := s.parse(filepath.Join(p.Dir, name), p.own())
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	c := types.Config{
		Importer: importer{p, known}, IgnoreFuncBodies: !p.own(), Sizes: sizes, FakeImportC: true,
		Error: func(err error) {
			if p.own() {
				faults = append(faults, err)
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	known[p.ImportPath], _ = c.Check(p.ImportPath, s.files, all, nil) // Error has the faults
	return faults, nil
}

func (s *sources) parse(path string, own bool) (*ast.File, error) {
	if f := s.asts[path]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !own { // without bodies, which nobody checks, the files of SQLite fit into memory
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name != "init" && fn.Name.Name != "main" {
				fn.Body = nil
			}
		}
	}
	s.asts[path] = f
	return f, nil
}

// importer finds the imports of one package.
type importer struct {
	of    *pkg
	known map[string]*types.Package
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}
