package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// mutants returns the mutants of a package that compile. Checking types is a hundred times as fast
// as a build and finds nearly all that do not compile.
func (t *target) mutants() ([]*mutant, error) {
	c, err := newChecker(t.folder)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, name := range c.names {
		if !t.has(name) {
			continue
		}
		file := path.Join(t.folder, name)
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := mutate(file, source)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if m.target = t; c.compiles(name, m.source) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// checker checks the types of a package with one file changed.
type checker struct {
	folder string
	fset   *token.FileSet
	names  []string
	trees  map[string]*ast.File
	config types.Config
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Export string
	GoFiles            []string
}

// newChecker parses the package in the folder and finds the compiled files of its imports.
func newChecker(folder string) (*checker, error) {
	packages, err := list(folder)
	if err != nil {
		return nil, err
	}
	c := &checker{folder: folder, fset: token.NewFileSet(), trees: map[string]*ast.File{}}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	c.names = packages[len(packages)-1].GoFiles // dependencies come first
	c.config.Importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, name := range c.names {
		if c.trees[name], err = parser.ParseFile(c.fset, filepath.Join(folder, name), nil, 0); err != nil {
			return nil, err
		}
	}
	if err := c.check(c.trees); err != nil {
		return nil, fmt.Errorf("the unchanged code does not compile: %w", err)
	}
	return c, nil
}

// list asks go for a package and everything that it imports.
func list(folder string) ([]listed, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./"+folder).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("go list: %s", failed.Stderr)
	} else if err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func (c *checker) compiles(name string, source []byte) bool {
	tree, err := parser.ParseFile(c.fset, name, source, 0)
	if err != nil {
		return false
	}
	trees := map[string]*ast.File{name: tree}
	for other, t := range c.trees {
		if other != name {
			trees[other] = t
		}
	}
	return c.check(trees) == nil
}

func (c *checker) check(trees map[string]*ast.File) error {
	var files []*ast.File
	for _, name := range c.names {
		files = append(files, trees[name])
	}
	_, err := c.config.Check(c.folder, c.fset, files, nil)
	return err
}

// draw returns n random mutants, in their order; n = 0: all.
func draw(all []*mutant, n int, seed uint64) []*mutant {
	if n <= 0 || n >= len(all) {
		return all
	}
	places := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(places)
	var drawn []*mutant
	for _, i := range places {
		drawn = append(drawn, all[i])
	}
	return drawn
}
