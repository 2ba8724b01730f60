// Command weights shows how much each direct dependency adds to takt's binary, in MiB of the stripped
// binary for Linux: the code and data of all packages that nothing else imports, with their share of the
// tables of functions and types. Builds without hey and without SQLite were 5 % and 8 % off.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const root = "github.com/taktload/takt/cmd/takt"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "weights:", err)
		os.Exit(1)
	}
}

func run() error {
	all, err := packages()
	if err != nil {
		return err
	}
	b, err := build()
	if err != nil {
		return err
	}
	modules, err := direct()
	if err != nil {
		return err
	}
	weights := map[string]float64{}
	for _, module := range modules {
		weights[module] = b.weigh(alone(all, module))
	}
	slices.SortFunc(modules, func(a, b string) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) })
	fmt.Printf("the stripped binary has %.1f MiB\n", b.total/mib)
	for _, module := range modules {
		fmt.Printf("%6.2f  %s\n", weights[module], module)
	}
	return nil
}

// pkg is a package that takt imports.
type pkg struct {
	ImportPath string
	Imports    []string
	ImportMap  map[string]string
	Module     *struct{ Path string }
}

func list(args ...string) (*json.Decoder, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"), os.Stderr
	out, err := cmd.Output()
	return json.NewDecoder(bytes.NewReader(out)), err
}

func packages() (map[string]pkg, error) {
	out, err := list("-deps", "-json=ImportPath,Imports,ImportMap,Module", "./cmd/takt")
	if err != nil {
		return nil, err
	}
	all := map[string]pkg{}
	for {
		var p pkg
		if err := out.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
}

// direct are the modules that go.mod requires for takt itself.
func direct() (paths []string, err error) {
	out, err := list("-m", "-json=Path,Indirect,Main", "all")
	if err != nil {
		return nil, err
	}
	for {
		var m struct {
			Path           string
			Indirect, Main bool
		}
		if err := out.Decode(&m); err == io.EOF {
			return paths, nil
		} else if err != nil {
			return nil, err
		}
		if !m.Indirect && !m.Main {
			paths = append(paths, m.Path)
		}
	}
}

// alone are the packages that takt would not import without the module.
func alone(all map[string]pkg, module string) map[string]bool {
	kept := map[string]bool{}
	var keep func(path string)
	keep = func(path string) {
		p := all[path]
		if kept[path] || p.Module != nil && p.Module.Path == module {
			return
		}
		kept[path] = true
		for _, to := range p.Imports {
			keep(cmp.Or(p.ImportMap[to], to))
		}
	}
	keep(root)
	keep("runtime")
	list := map[string]bool{}
	for path := range all {
		list[path] = !kept[path]
	}
	return list
}

// part is what the symbols of a package say. All sizes are bytes.
type part struct{ code, data, functions float64 }

func (p part) plus(q part) part {
	return part{p.code + q.code, p.data + q.data, p.functions + q.functions}
}

// binary is takt, by package. Tables have no symbols: that of functions grows with their number, and that
// of types and texts with the code.
type binary struct {
	parts                   map[string]part
	functions, types, total float64
}

const mib = 1 << 20

// build builds takt twice: with symbols, and stripped.
func build() (b binary, err error) {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(dir)
	full, stripped := filepath.Join(dir, "full"), filepath.Join(dir, "stripped")
	for name, flags := range map[string]string{full: "", stripped: "-s -w"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", flags, "-o", name, "./cmd/takt")
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"), os.Stderr
		if err := cmd.Run(); err != nil {
			return b, err
		}
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return b, err
	}
	b.total = float64(info.Size())
	file, err := elf.Open(stripped)
	if err != nil {
		return b, err
	}
	defer file.Close()
	b.functions, b.types = float64(file.Section(".gopclntab").Size), float64(file.Section(".rodata").Size)
	out, err := exec.Command("go", "tool", "nm", "-size", full).Output()
	b.parts = parts(out)
	return b, err
}

// parts reads what go tool nm says.
func parts(nm []byte) map[string]part {
	all := map[string]part{}
	for lines := bufio.NewScanner(bytes.NewReader(nm)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue // a symbol without an address
		}
		n, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		name := packageOf(f[3])
		switch strings.ToUpper(f[2]) {
		case "T":
			all[name] = all[name].plus(part{code: n, functions: 1})
		case "R", "D":
			all[name] = all[name].plus(part{data: n})
		}
	}
	return all
}

// packageOf is the package of a symbol, such as example.com/a%2eb.(*T).F, type:.eq.example.com/a.T or
// example.com/a.F[go.shape.int].
func packageOf(symbol string) string {
	symbol = strings.TrimPrefix(strings.TrimPrefix(symbol, "type:.eq."), "type:.hash.")
	symbol, _, _ = strings.Cut(symbol, "[")
	symbol, _, _ = strings.Cut(symbol, "(")
	slash := strings.LastIndex(symbol, "/") + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	return strings.ReplaceAll(symbol[:slash]+name, "%2e", ".")
}

// weigh is the size of the packages in MiB.
func (b binary) weigh(list map[string]bool) float64 {
	var some, all part
	for path, p := range b.parts {
		if all = all.plus(p); list[path] {
			some = some.plus(p)
		}
	}
	return (some.code + some.data + b.functions*some.functions/all.functions + b.types*some.code/all.code) / mib
}
