package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// policyFmtOptions are the flags of lace policy fmt.
type policyFmtOptions struct{ write, check bool }

func newPolicyFmtCommand(s *session) *cobra.Command {
	o := &policyFmtOptions{}
	c := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Lay policies out in one way, keeping their comments",
		Long: `Fmt writes the policies laid out for people to stdout: canonical spelling, a
statement a line or a literal a line, all comments kept. Formatting twice
changes nothing, and the digest of a policy is the same before and after.

With --write the files that would change are replaced in place, each at once,
and named. With --check they are only named, and the exit code is 4. When a
file cannot be read as a policy the exit code is 2 and no file is written.
Standard input is named -.`,
		Args: policyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(s, args)
			return s.emit(doc, err)
		},
	}
	c.Flags().BoolVarP(&o.write, "write", "w", false, "replace the files that would change")
	c.Flags().BoolVarP(&o.check, "check", "l", false, "only name the files that would change, and exit 4 if there are any")
	return c
}

type policyFmtDocument struct {
	head
	Files       []formattedFile  `json:"files"`
	Diagnostics []diagnosticBody `json:"diagnostics"`
	showText    bool
}

// formattedFile is one policy file. Text is there unless --write or --check
// was said.
type formattedFile struct {
	File    string  `json:"file"`
	Changed bool    `json:"changed"` // its layout is another, or was before --write
	Written bool    `json:"written"`
	Text    *string `json:"text,omitempty"`
	path    string
	result  []byte
}

func (o *policyFmtOptions) run(s *session, files []string) (document, error) {
	doc := &policyFmtDocument{head: newHead("policy-fmt", ""), Files: []formattedFile{}, Diagnostics: []diagnosticBody{}, showText: !o.write && !o.check}
	switch {
	case o.write && o.check:
		return doc, &usageError{errors.New("--write replaces files and --check only names them: say one of the two")}
	case o.write && slices.Contains(files, stdinName):
		return doc, &usageError{errors.New("standard input (-) cannot be formatted in place")}
	}
	sources, err := s.readPolicies(files)
	if err != nil {
		return doc, err
	}
	if err := doc.format(sources, files); err != nil {
		doc.Diagnostics = diagnosticsOf(err)
		return doc, err
	}
	if o.write {
		return doc, doc.replaceAll(s.fs)
	}
	if n := doc.changed(); o.check && n > 0 {
		return doc, &verdict{exitUnformatted, plural(n, "policy") + " not formatted; lace policy fmt --write formats"}
	}
	return doc, nil
}

// format lays out all files, or says all that is wrong with any of them.
func (d *policyFmtDocument) format(sources []policy.Source, files []string) error {
	var all syntax.List
	for i, src := range sources {
		result, err := policy.Format(src)
		var list syntax.List
		if errors.As(err, &list) {
			all = append(all, list...)
			continue
		}
		f := formattedFile{File: src.Name, Changed: !bytes.Equal(result, src.Text), path: files[i], result: result}
		if text := string(result); d.showText {
			f.Text = &text
		}
		d.Files = append(d.Files, f)
	}
	if err := all.Err(); err != nil {
		return newPolicyError(err)
	}
	return nil
}

func (d *policyFmtDocument) changed() int {
	n := 0
	for _, f := range d.Files {
		if f.Changed {
			n++
		}
	}
	return n
}

// replaceAll writes the files that changed.
func (d *policyFmtDocument) replaceAll(fsys vfs.FS) error {
	for i := range d.Files {
		f := &d.Files[i]
		if !f.Changed {
			continue
		}
		if err := replaceFile(fsys, f.path, f.result); err != nil {
			return fmt.Errorf("policy %s: %w", ui.Quote(f.File), err)
		}
		f.Written = true
	}
	return nil
}

// replaceFile puts text in place of a file, of which it keeps the permissions.
// A link stays a link: what it leads to is replaced.
func replaceFile(fsys vfs.FS, path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	// A rename asks nobody, so a file that may not be written is asked first.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return vfs.Replace(fsys, dir, name, func(w io.Writer) error {
		// Before the text is there: it may be nobody else's to read.
		if err := os.Chmod(path+vfs.TempSuffix, info.Mode().Perm()); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	})
}

func (d *policyFmtDocument) text(w io.Writer) {
	for _, f := range d.Files {
		switch {
		case d.showText:
			// The text is the file's own, of which nothing is escaped: it is
			// there to be read by programs as well.
			fmt.Fprintf(w, "%s", f.result)
		case f.Changed:
			fmt.Fprintf(w, "%s\n", ui.Quote(f.File))
		}
	}
}
