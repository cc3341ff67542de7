package policy

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// checkParams holds the values of parameters to the rules of constants: they
// are compared with them and with the text of records.
func checkParams(params map[string]string) syntax.List {
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	sort.Strings(names)
	var errs syntax.List
	for _, name := range names {
		for _, text := range []string{name, params[name]} {
			if code, why, mend := checkText(text); why != "" {
				errs = append(errs, syntax.Diagnostic{
					Code: code, Position: syntax.Position{File: "--param " + name}, Text: text, Why: why, Mend: mend,
				})
			}
		}
	}
	return errs
}

// checkText returns what is wrong with the name or the value of a parameter.
func checkText(text string) (code syntax.Code, why, mend string) {
	switch {
	case len(text) > syntax.MaxConstantBytes:
		return syntax.CodeLimit, fmt.Sprintf("parameter text of %d bytes", len(text)), fmt.Sprintf("at most %d are allowed", syntax.MaxConstantBytes)
	case !utf8.ValidString(text):
		return program.CodeParam, "parameter text is not UTF-8", "records hold UTF-8, so it could match nothing"
	case !norm.NFC.IsNormalString(text):
		return program.CodeParam, "parameter text is not in Unicode normalization form C", "records hold NFC text, so it could match nothing"
	}
	return "", "", ""
}
