package sweep_test

import "testing"

// TestSemantics pins what the policy page says about evaluation. Each case
// holds for all windows, pages, blocks and numbers of distinct searches.
func TestSemantics(t *testing.T) {
	r := makeRoot(t,
		"a Topic=x Pin=1 N=1",
		"b Topic=x Ref=@a N=2",
		"c Topic=y Ref=reply+@b N=10",
		"d Topic=y Ref=@absent N=01",
		"e Topic=x Ref=@c Ref=@b N=18446744073709551617",
		"f Topic=z N=18446744073709551616",
		"seal: s e",
		"contained: g f",
	)
	for name, c := range map[string]struct{ want, policy string }{
		"true selects every record": {"a b c d e f s g", `SelectStoredRecord(R) :- true.`},
		"a rule with no match":      {"", `SelectStoredRecord(R) :- Field(R,'Topic',_,'none').`},

		// Sets and fixed points.
		"recursion over links": {"a b c", `
			reach(R) :- Field(R,'N',_,'10'). reach(T) :- reach(R), RecordLink(R,_,_,_,T).
			SelectStoredRecord(R) :- reach(R).`},
		"recursion against links": {"a b c e s", `
			reach(R) :- Field(R,'Pin',_,_). reach(R) :- reach(T), RecordLink(R,_,_,_,T).
			SelectStoredRecord(R) :- reach(R).`},
		"mutual recursion": {"a c", `
			even(R) :- Field(R,'N',_,'10'). even(T) :- odd(R), RecordLink(R,_,_,_,T).
			odd(T) :- even(R), RecordLink(R,_,_,_,T). SelectStoredRecord(R) :- even(R).`},
		"negation over the result of recursion": {"d e f s g", `
			reach(R) :- Field(R,'N',_,'10'). reach(T) :- reach(R), RecordLink(R,_,_,_,T).
			SelectStoredRecord(R) :- Have(R), not reach(R).`},

		// What is a record.
		"a constant is a record while it is held":      {"a", `SelectStoredRecord('@a'). SelectStoredRecord('@absent').`},
		"a constant that is not held has no facts":     {"", `SelectStoredRecord(R) :- Have(R), Have('@absent').`},
		"not Have of what is not held":                 {"d", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,T), not Have(T).`},
		"a target that is not held selects nothing":    {"a b c", `SelectStoredRecord(T) :- RecordLink(_,_,_,_,T).`},
		"a text that is no record selects nothing":     {"", `SelectStoredRecord(t) :- Field(_,'Topic',_,t).`},
		"a record equals its hash text in a field":     {"b d e s", `SelectStoredRecord(R) :- Field(R,'Ref',_,v), RecordLink(R,'Ref',_,'',v).`},
		"a field value is the record that it names":    {"a b c", `SelectStoredRecord(T) :- Field(_,'Ref',_,T), Have(T). SelectStoredRecord('@c').`},
		"containment admits nothing":                   {"e g", `SelectStoredRecord(C) :- ContainsRecord(_,C).`},
		"containers of what is held":                   {"f s", `SelectStoredRecord(R) :- ContainsRecord(R,C), Have(C).`},
		"a Seal has the fields of its Plex":            {"e s", `SelectStoredRecord(R) :- Field(R,'N',_,'18446744073709551617').`},
		"an owner that is not held has no facts":       {"a b c d e f s g", `SelectStoredRecord(R) :- Have(R), not Field('@absent',_,_,_).`},
		"an owner that is held has some":               {"", `SelectStoredRecord(R) :- Have(R), not Field('@a','Pin',_,_).`},
		"the record itself among its facts":            {"", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,R).`},
		"repeated variables in one atom":               {"", `SelectStoredRecord(R) :- Field(R,n,_,n).`},
		"repeated variables in one record":             {"e s", `SelectStoredRecord(R) :- RecordLink(R,_,'0',_,T), RecordLink(R,_,'1',_,U), Compare(T,'!=',U).`},
		"negation of any":                              {"a f g", `SelectStoredRecord(R) :- Have(R), not RecordLink(R,_,_,_,_).`},
		"negation over a searched owner":               {"d e f s g", `SelectStoredRecord(R) :- Have(R), not RecordLink(_,'Ref',_,_,R).`},
		"negation over a searched owner with its text": {"d e f s g", `SelectStoredRecord(R) :- Have(R), not Field(_,'Ref',_,R), not RecordLink(_,_,_,'reply',R).`},

		// Comparisons.
		"admission order":                       {"d e f s g", `SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'>',AdmitOrder('@c')).`},
		"admission order, mirrored":             {"a b c", `SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder('@c'),'>=',AdmitOrder(R)).`},
		"admission order of what is not held":   {"", `SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'!=',AdmitOrder('@absent')).`},
		"admission order of an unheld target":   {"b c e s", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,T), Compare(AdmitOrder(R),'>',AdmitOrder(T)).`},
		"admission order, equal":                {"c", `SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'=',AdmitOrder('@c')).`},
		"numbers of any size":                   {"e s", `SelectStoredRecord(R) :- Field(R,'N',_,n), Compare(Number(n),'>',Number('18446744073709551616')).`},
		"numbers are canonical":                 {"a b c", `SelectStoredRecord(R) :- Field(R,'N',_,n), Compare(Number(n),'<=',Number('10')).`},
		"numbers that are none reject":          {"", `SelectStoredRecord(R) :- Field(R,'Topic',_,n), Compare(Number(n),'!=',Number('1')).`},
		"text order is bytewise":                {"a c d", `SelectStoredRecord(R) :- Field(R,'N',_,n), Compare(n,'<=','10').`},
		"text order of records is their hash":   {"a b c d e f", `SelectStoredRecord(R) :- Have(R), Compare(R,'<','Q'), Compare(R,'>','C').`},
		"prefix":                                {"e f s", `SelectStoredRecord(R) :- Field(R,'N',_,n), Prefix(n,'184').`},
		"prefix of a record":                    {"s", `SelectStoredRecord(R) :- Have(R), Prefix(R,'S.').`},
		"equal binds":                           {"a b e s", `SelectStoredRecord(R) :- Compare(t,'=','x'), Field(R,'Topic',_,t).`},
		"equal binds a record":                  {"b e s", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,T), Compare(T,'=',U), Compare('@a','=',V), Compare(W,'=',V), RecordLink(X,_,_,_,W), Compare(X,'=',Y), Compare(Y,'=',Y), Compare(U,'!=','@absent'), Compare(R,'!=','@c').`},
		"parameters":                            {"", `SelectStoredRecord(R) :- Param('cutoff',c), Field(R,'Topic',_,t), Compare(t,'<',c).`},
		"parameters compare with texts":         {"a b c d e f s", `SelectStoredRecord(R) :- Param('cutoff',c), Field(R,'Topic',_,t), Compare(t,'>',c).`},
		"a parameter may be a hash":             {"d", `SelectStoredRecord(R) :- Param('who',w), RecordLink(R,_,_,_,w).`},
		"join on a value":                       {"a b c d e s", `SelectStoredRecord(R) :- Field(R,'Topic',_,t), Field(S,'Topic',_,t), Compare(R,'!=',S).`},
		"join on a value of a negated text":     {"f", `other(R) :- Field(R,'Topic',_,t), Field(S,'Topic',_,t), Compare(R,'!=',S). SelectStoredRecord(R) :- Field(R,'Topic',_,_), not other(R).`},
		"a helper with another selected record": {"b c e s", `reply(R,T) :- RecordLink(R,'Ref',_,_,T). SelectStoredRecord(T) :- reply(R,T), Field(R,'Topic',_,t), Field(T,'Topic',_,u), Compare(t,'!=',u). SelectStoredRecord(R) :- reply(R,T), reply(T,U), Compare(AdmitOrder(U),'=',AdmitOrder('@a')), not reply(_,R). SelectStoredRecord('@c').`},
	} {
		t.Run(name, func(t *testing.T) { r.keeps(t, c.want, c.policy) })
	}
}

// TestTopK pins the ranking.
func TestTopK(t *testing.T) {
	r := makeRoot(t,
		"a Topic=x N=3 T=q",
		"b Topic=x N=03 T=q",
		"c Topic=x Topic=x N=20 T=p",
		"d Topic=y N=20 Ref=@a",
		"e Topic=y N=5 Ref=@absent",
		"f Topic=y N=100000000000000000000 Ref=@b",
		"g Topic=x N=5 Ref=@a T=p",
	)
	const topic = `topic(R,t) :- Field(R,'Topic',_,t). number(R,t,n) :- topic(R,t), Field(R,'N',_,n). `
	for name, c := range map[string]struct{ want, policy string }{
		"newest per topic":          {"c e f g", topic + `SelectStoredRecord(R) :- TopK(topic(R,t),PartitionBy(t),AdmitOrder(R),'desc','2').`},
		"oldest per topic":          {"a d", topic + `SelectStoredRecord(R) :- TopK(topic(R,t),PartitionBy(t),AdmitOrder(R),'asc','1').`},
		"one global partition":      {"f g", topic + `SelectStoredRecord(R) :- TopK(topic(R,t),PartitionBy(),AdmitOrder(R),'desc','2').`},
		"more than there are":       {"a b c d e f g", topic + `SelectStoredRecord(R) :- TopK(topic(R,t),PartitionBy(t),AdmitOrder(R),'desc','99').`},
		"over base facts":           {"c e f g", `SelectStoredRecord(R) :- TopK(Field(R,'Topic',_,t),PartitionBy(t),AdmitOrder(R),'desc','2').`},
		"anonymous makes no tuple":  {"b c g", `SelectStoredRecord(R) :- TopK(Field(R,'Topic',_,'x'),PartitionBy(),AdmitOrder(R),'desc','3').`},
		"named makes one":           {"c g", `SelectStoredRecord(R) :- TopK(Field(R,'Topic',i,'x'),PartitionBy(),AdmitOrder(R),'desc','3'), Compare(i,'>=','0').`},
		"constants filter before":   {"c g", topic + `SelectStoredRecord(R) :- TopK(topic(R,'x'),PartitionBy(),AdmitOrder(R),'desc','2').`},
		"the rest joins after":      {"f", topic + `SelectStoredRecord(R) :- TopK(topic(R,t),PartitionBy(),AdmitOrder(R),'desc','2'), Field(R,'Topic',_,'y').`},
		"shared variables join too": {"f", topic + `SelectStoredRecord(R) :- Compare(t,'=','y'), TopK(topic(R,t),PartitionBy(),AdmitOrder(R),'desc','2').`},
		"numbers, those that are":   {"c f", topic + `SelectStoredRecord(R) :- TopK(number(R,t,n),PartitionBy(t),Number(n),'desc','1').`},
		"numbers ascending":         {"a e", topic + `SelectStoredRecord(R) :- TopK(number(R,t,n),PartitionBy(t),Number(n),'asc','1').`},
		"text order":                {"b f", topic + `SelectStoredRecord(R) :- TopK(number(R,t,n),PartitionBy(t),n,'asc','1').`},
		"text order descending":     {"e g", topic + `SelectStoredRecord(R) :- TopK(number(R,t,n),PartitionBy(t),n,'desc','1').`},
		"unheld are dropped before": {"d g", `SelectStoredRecord(R) :- TopK(RecordLink(R,_,_,_,T),PartitionBy(),AdmitOrder(T),'asc','2').`},
		"unheld are ranked as text": {"d e f g", `SelectStoredRecord(R) :- TopK(RecordLink(R,_,_,_,T),PartitionBy(T),T,'asc','2').`},
		"a tuple ranks once":        {"b c d e f g", `at(R,t,i) :- Field(R,'Topic',i,t). SelectStoredRecord(R) :- TopK(at(R,t,_),PartitionBy(t),AdmitOrder(R),'desc','3').`},
		"repeated variables before": {"", `SelectStoredRecord(R) :- TopK(RecordLink(R,_,_,_,R),PartitionBy(),AdmitOrder(R),'asc','2').`},
		"winners may be negated":    {"a b d", topic + `newest(R) :- TopK(topic(R,t),PartitionBy(t),AdmitOrder(R),'desc','2'). SelectStoredRecord(R) :- Have(R), not newest(R).`},
	} {
		t.Run(name, func(t *testing.T) { r.keeps(t, c.want, c.policy) })
	}
	// Ties break ascending, component by component, whatever the direction:
	// the tuples (R,t) of one T are ordered by the hash of R.
	first, second := "a", "b"
	if r.hashes[first] > r.hashes[second] {
		first, second = second, first
	}
	for _, direction := range []string{"asc", "desc"} {
		policy := `tie(R,t) :- Field(R,'T',_,t). SelectStoredRecord(R) :- TopK(tie(R,t),PartitionBy(t),t,'` + direction + `','1'), Field(R,'T',_,'q').`
		r.keeps(t, first, policy)
	}
}

// TestModules pins what a list of modules means.
func TestModules(t *testing.T) {
	r := makeRoot(t, "a Topic=x", "b Topic=y Ref=@a", "c Topic=z")
	x := `SelectStoredRecord(R) :- Field(R,'Topic',_,'x').`
	t.Run("union", func(t *testing.T) { r.keeps(t, "a b", x, `SelectStoredRecord(R) :- Field(R,'Topic',_,'y').`) })
	t.Run("without a selection a module contributes nothing", func(t *testing.T) { r.keeps(t, "a", x, `h(R) :- Have(R).`) })
	t.Run("exposure and vetoes are ignored", func(t *testing.T) {
		r.keeps(t, "a", x+` ExposeRecord(R) :- Have(R). TxDisabled(R) :- Have(R). SelectAdvertisedCandidate(R) :- Have(R).`)
	})
	t.Run("each module is evaluated alone", func(t *testing.T) {
		r.keeps(t, "a c", `h(R) :- Field(R,'Topic',_,'x'). SelectStoredRecord(R) :- h(R).`, `h(R) :- Field(R,'Topic',_,'z'). SelectStoredRecord(R) :- h(R).`)
	})
	t.Run("removed evidence unselects with the next sweep", func(t *testing.T) {
		linked := `SelectStoredRecord(T) :- RecordLink(_,'Ref',_,_,T), Have(T).`
		r.keeps(t, "a", linked)
		makeRoot(t, "a Topic=x").keeps(t, "", linked)
	})
}

// TestEmptyRoot: nothing to decide is no error.
func TestEmptyRoot(t *testing.T) {
	makeRoot(t).keeps(t, "", `SelectStoredRecord(R) :- true.`)
}
