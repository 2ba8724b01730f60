package apmserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/moby/moby/client"

	"github.com/taktload/takt/internal/judge/stored"
)

// Image is an image built by takt.
type Image struct {
	Name     string // tag; "": another image has the tag now
	ID       string
	Revision Revision
	Created  time.Time
	Bytes    int64
}

// Images lists takt's images, newest first.
func (d *Docker) Images(ctx context.Context) ([]Image, error) {
	if err := d.reach(ctx); err != nil {
		return nil, err
	}
	list, err := d.engine.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelKey)})
	if err != nil {
		return nil, err
	}
	var images []Image
	for _, i := range list.Items {
		label := func(name string) string { return i.Labels[labelPrefix+name] }
		date, _ := stored.ParseRevisionDate(label(stored.LabelRevisionDate)) // takt wrote it
		image := Image{
			ID: i.ID, Created: time.Unix(i.Created, 0), Bytes: i.Size,
			Revision: Revision{Branch: label(stored.LabelBranch), Hash: label(stored.LabelRevision), Date: date, Subject: i.Labels[labelSubject]},
		}
		if len(i.RepoTags) > 0 {
			image.Name = i.RepoTags[0]
		}
		images = append(images, image)
	}
	slices.SortFunc(images, func(a, b Image) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name)) })
	return images, nil
}

// PrintImages writes a table of images.
func PrintImages(to io.Writer, images []Image) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "image\tbranch\trevision\trevision date\tsize\tbuilt")
	for _, i := range images {
		fmt.Fprintf(t, "%s\t%s\t%.12s\t%s\t%s\t%s\n", cmp.Or(i.Name, i.ID), i.Revision.Branch, i.Revision.Hash,
			i.Revision.Date.Format("06-01-02 15:04"), decimal(float64(i.Bytes)), i.Created.UTC().Format(time.RFC3339))
	}
	return t.Flush()
}
