package style

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A pattern finds one form of a headless subject. The text of a finding is that of the
// group in the expression, or the whole match without a group.
type pattern struct {
	class  Class
	needs  string // a part of each match in lower case; saves most searches
	find   *regexp.Regexp
	unless *regexp.Regexp // no finding when the text after the match begins like this
}

const (
	// whatVerb continues "what" so that the clause is a subject: "What is queued waits".
	whatVerb = `(?:is|was|are|were|has|had|have|lies|lie|does|did|can|cannot|could|may|might|` +
		`must|will|would|comes|came|goes|needs|runs|ran|waits|blocks|remains|stays|` +
		`follows|begins|ends|begin|calls|reads|writes|takes|took|gets|got|makes|made|` +
		`matters|counts|holds|belongs|others|it|they|we|the|a|an|another)\b`
	conjunction = `(?:until|because|while|if|unless|since|so|although|though|but)`
)

var patterns = []pattern{
	{Who, "ever", regexp.MustCompile(`(?i)\b(?:who(?:m|so)?ever|whosoever)\b`), nil},
	{
		Indefinite, "", regexp.MustCompile(`(?i)\b(?:nobody|somebody|everybody|anybody|no one|someone|everyone|anyone)\b`),
		regexp.MustCompile(`(?i)^['’]s\b`),
	},
	{What, "what", regexp.MustCompile(`(?i)^\W*(What\s+` + whatVerb + `)`), nil},
	{What, "what", regexp.MustCompile(`(?i)\b` + conjunction + `\s+what\s+` + whatVerb), nil},
	{Each, " that ", regexp.MustCompile(`(?i)\b(?:each|another|both|none|many|few) that (?:is|was|were|are|has|had|have|does|comes|came|looks|finds|found|waits|runs|ran|holds|parks|went|goes)\b`), nil},
	{Each, " to ", regexp.MustCompile(`(?i)\bthe (?:first|last|next|other) to (?:do|be|come|leave|look|take|have|give|go)\b`), nil},
	{Each, "one of the two ", regexp.MustCompile(`(?i)\bone of the two (?:sees|looks|finds|takes|wins|does)\b`), nil},
}

// headless returns the places where the subject of a clause is no noun. lower is s
// in lower case.
func headless(s, lower string) (hits []hit) {
	for _, p := range patterns {
		if !strings.Contains(lower, p.needs) || p.class == What && !mayBeClause(s) {
			continue
		}
		for _, m := range p.find.FindAllStringSubmatchIndex(s, -1) {
			if p.unless == nil || !p.unless.MatchString(s[m[1]:]) {
				m = m[len(m)-2:]
				hits = append(hits, hit{start: m[0], end: m[1], class: p.class})
			}
		}
	}
	for _, m := range relative.FindAllStringIndex(s, -1) {
		if !hasHead(s, m[0], m[1]) {
			hits = append(hits, hit{start: m[0], end: min(len(s), cutAfter(s, m[1], 26)), class: Who})
		}
	}
	return hits
}

// cutAfter returns an offset of about n bytes after from that divides no rune.
func cutAfter(s string, from, n int) int {
	for from += n; from < len(s) && !utf8.RuneStart(s[from]); {
		from++
	}
	return from
}

var fixedPhrase = regexp.MustCompile(`^\W*What follows\b`)

// mayBeClause reports whether "what" in s may begin a clause that is a subject. It does
// not in a question or a fixed phrase, nor in a label such as "what the user gave".
func mayBeClause(s string) bool {
	return !isQuestion(s) && !strings.HasSuffix(s, ":") && len(strings.Fields(s)) >= 6 && !fixedPhrase.MatchString(s)
}

func isQuestion(s string) bool { return strings.HasSuffix(strings.TrimRight(s, "\"”’)"), "?") }

var (
	relative   = regexp.MustCompile(`(?i)\b(?:who|whom|whose)\b`)
	openQuote  = regexp.MustCompile("[\"'“`]$")
	closing    = regexp.MustCompile(`[\])]+$`)
	before     = regexp.MustCompile(`,?\s(?:of|for|to|from|with|by|in|on|at|behind)$`)
	lastWord   = regexp.MustCompile(`([A-Za-z][\w'-]*)\)?$`)
	tokens     = regexp.MustCompile(`[\w'-]+|[,.;:()]`)
	dependsOn  = regexp.MustCompile(`\bdepend\w*\s+(?:up)?on$`)
	questions  = regexp.MustCompile(`(?i)\b(?:says?|states?|shows?|documents?|names?|decides?|defines?|about|list)\s+(?:who|what|which|where|when|how)\b`)
	verbEnding = regexp.MustCompile(`(?:s|ed)$`)
)

// hasHead reports whether the relative pronoun at s[start:end] refers to a noun for a
// person or a role. It also returns true when the pronoun opens a question.
func hasHead(s string, start, end int) bool {
	if isQuestion(s) {
		return true
	}
	text := strings.TrimSpace(s[:start])
	if openQuote.MatchString(text) {
		return true // the word itself is quoted
	}
	word, comma := strings.ToLower(s[start:end]), strings.HasSuffix(text, ",")
	text = closing.ReplaceAllString(strings.TrimSuffix(text, ","), "")
	head := text
	if word != "who" { // "a task, of whose fields": the preposition belongs to the clause
		head = strings.TrimSpace(before.ReplaceAllString(" "+text, ""))
	}
	m := lastWord.FindStringSubmatch(head)
	if m == nil {
		return false
	}
	noun := strings.ToLower(m[1])
	switch {
	case word == "whose" && !noHeadOfThings[noun]:
		return true // "whose" refers to things as well: "a call whose handler"
	case isRole(noun):
		return true
	case !comma && (asking[noun] || dependsOn.MatchString(text)):
		return true
	case (comma || noun == "and" || noun == "or") && questions.MatchString(text):
		return true // "states who pushes, who waits, and who ends"
	}
	// "a caller of Run who waits": the head is one of the last words without a
	// punctuation mark in between. It is not when the last word is a verb.
	return !functionWords[noun] && !verbEnding.MatchString(noun) && roleAmongLast(text)
}

// roleAmongLast reports whether one of the last words of s is a role, with no
// punctuation behind it.
func roleAmongLast(s string) bool {
	ts := tokens.FindAllString(s, -1)
	for i := len(ts) - 1; i >= max(0, len(ts)-6); i-- {
		if strings.ContainsAny(ts[i][:1], ",.;:()") {
			return false
		}
		if isRole(strings.ToLower(ts[i])) {
			return true
		}
	}
	return false
}

var agent = regexp.MustCompile(`..(?:ers?|ors?|ees?|ists?|ants?|ents?|ians?|man|men)$`)

// isRole reports whether "who" may refer to the noun. It is on the list of persons or has
// an ending of agents, as "caller" and "requester" do.
func isRole(noun string) bool {
	return persons[noun] || agent.MatchString(noun) && !noAgents[noun]
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// persons are nouns for a person or a role without an ending of agents.
var persons = set(`
	people person persons user users man woman men women client clients team teams
	participant participants applicant guest guests host victim victims thief thieves
	peer peers child children parent parents sibling siblings someone anyone everyone
	one ones those others other friend friends folk folks expert experts student
	students human humans public audience party parties witness colleague colleagues
	company companies individual individuals novice developer everybody anybody`)

// noAgents are words with an ending of agents that are no role.
var noAgents = set(`
	other either neither after over under never ever whether rather per later former
	latter or for nor number order buffer pointer header integer however together
	another whichever wherever moreover further better earlier ponder see free three
	tree agree guarantee event present current argument moment element want grant
	different sent went content document statement assignment environment alignment
	increment counter register layer answer remember consider offer enter refer prefer
	differ trigger defer transfer deliver cover discover recover server color error
	vector factor behavior major minor prior`)

// asking are the words after which "who" opens a question: "states who may write".
var asking = set(`
	say says said state states stated stating show shows shown know knows known
	decide decides decided deciding determine determines determining specify specifies
	document documents documenting name names define defines record records ask asks
	asking see check checks remember learn learns tell tells matter matters care cares
	choose chooses about understand track tracks identify identifies describe describes
	list lists print prints regardless depending depend depends which what where when
	how why`)

// functionWords cannot end a noun phrase that "who" refers to.
var functionWords = set(`
	and or but of for to by that if when than as from with so while until because
	since is are it them him on before after unless`)

// noHeadOfThings are words before "whose" that are no thing.
var noHeadOfThings = set(`and or but of for to by that if when`)
