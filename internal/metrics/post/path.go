package post

// At is the URL, with the path if the URL has none.
func (a Address) At(path string) string {
	u := *a.URL
	if u.Path == "" || u.Path == "/" {
		u.Path = path
	}
	return u.String()
}
