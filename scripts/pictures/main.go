// Command pictures makes the pictures of HTML pages.
//
//	go run ./scripts/pictures                             docs/pictures anew: takt against its own target, half a minute
//	go run ./scripts/pictures [FLAGS] PAGE.html TO.png    one page, to look at while it changes
//	go run ./scripts/pictures OUTPUT.txt TITLE TO.svg     what a terminal showed
//
// It uses the Chromium of scripts/servers.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/test/chromium"
)

// shown is the height of the pictures in docs/pictures: from the verdict to the charts over time.
const shown = 1116

func main() {
	var v chromium.View
	flag.IntVar(&v.Width, "width", 1280, "width of the window in pixels")
	flag.IntVar(&v.Height, "height", 0, "height of the picture in pixels; 0: the whole page")
	flag.BoolVar(&v.Dark, "dark", false, "as with prefers-color-scheme: dark")
	flag.Parse()
	var err error
	switch flag.NArg() {
	case 0:
		err = docs()
	case 2:
		err = pictures(flag.Arg(0), map[string]chromium.View{flag.Arg(1): v})
	case 3:
		err = terminal(flag.Arg(0), flag.Arg(1), flag.Arg(2))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// docs makes docs/pictures.
func docs() error {
	dir, err := os.MkdirTemp("", "takt-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	page := filepath.Join(dir, "report.html")
	if err := load(filepath.Join(dir, "takt"), page); err != nil {
		return err
	}
	return pictures(page, map[string]chromium.View{
		"docs/pictures/report-light.png": {Width: 1080, Height: shown},
		"docs/pictures/report-dark.png":  {Width: 1080, Height: shown, Dark: true},
	})
}

// load runs takt, built at the path program, against a target that freezes.
func load(program, page string) error {
	if err := run("go", "build", "-o", program, "./cmd/takt"); err != nil {
		return err
	}
	target := exec.Command(program, "target", "--addr", "127.0.0.1:0", "--service", "lognormal(2ms,0.4)", "--freeze", "1s/10s")
	says, err := target.StderrPipe()
	if err != nil {
		return err
	}
	if err := target.Start(); err != nil {
		return err
	}
	defer func() {
		_ = target.Process.Kill()
		_ = target.Wait() // it was killed
	}()
	line, err := bufio.NewReader(says).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "takt target: ")
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("the target said %q", line))
	}
	return run(program, "http", "--rate", "500/s", "-z", "30s", "--warmup", "2s", "--connections", "20", "--no-store",
		"--assert", "p99.9<2s,errors<0.1%", "-o", "html="+page, url)
}

func run(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	return c.Run()
}

// pictures writes pictures of a page.
func pictures(page string, list map[string]chromium.View) (err error) {
	program, err := exec.Command("scripts/servers", "start", "chromium").Output()
	if err != nil {
		return fmt.Errorf("no Chromium: %w; run scripts/servers fetch chromium", err)
	}
	path, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	b, err := chromium.Start(strings.TrimSpace(string(program)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for to, v := range list {
		if err := picture(b, "file://"+path, to, v); err != nil {
			return err
		}
	}
	return nil
}

func picture(b *chromium.Browser, url, to string, v chromium.View) error {
	height := v.Height
	if height == 0 {
		v.Height = 900
	}
	p, err := b.Open(url, v)
	if err != nil {
		return err
	}
	for _, fault := range p.Faults() {
		fmt.Fprintln(os.Stderr, "pictures:", fault)
	}
	png, err := p.Picture(height)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, png, 0o644), p.Close())
}
