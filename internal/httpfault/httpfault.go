// Package httpfault is about the errors of package net/http.
package httpfault

import (
	"errors"
	"net/url"
)

// Cause is an error of http.Client without the method and the URL that net/http puts before it. The URL
// may have secrets.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
