package recipetext

import (
	"regexp"
	"strconv"
	"strings"
)

// headings of the parts of a text, in small letters and without a colon.
var (
	ingredientHeadings = words("ingredients|ingredient list|you need|you will need|what you need|you'll need|shopping list|zutaten|zutatenliste|einkaufsliste|ingrédients|ingredients list|il vous faut")
	stepHeadings       = words("steps|method|instructions|directions|preparation|how to make it|how to|procedure|zubereitung|so geht's|so geht’s|anleitung|arbeitsschritte|préparation|preparation steps|étapes|instructions de cuisson|réalisation|recette")
	noteHeadings       = words("notes|note|tips|tip|nutrition|nutrition facts|storage|tipp|tipps|hinweis|hinweise|nährwerte|astuces|astuce|conseils|valeurs nutritionnelles|equipment|utensilien|ustensiles")
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.SplitSeq(list, "|") {
		out[w] = true
	}
	return out
}

// partLine is a line that names a part of a dish: "For the sauce:", "Für den Teig", "Pour la pâte :".
var partLine = regexp.MustCompile(`(?i)^(for (the|your) |für (den|die|das) |für |pour (la |le |les |l'|l’))`)

// partOf returns the part of a dish that a line names. Figures make an ingredient of it, and so does a
// line that ends without a colon and does not say for what it is.
func partOf(line string) (string, bool) {
	bare := strings.TrimSpace(strings.Trim(strings.TrimSpace(line), ":*_#"))
	if bare == "" || len(bare) > 60 || strings.ContainsAny(bare, "0123456789½¼¾⅓⅔") {
		return "", false
	}
	if strings.HasSuffix(strings.TrimRight(line, " *_"), ":") {
		return bare, true
	}
	return bare, partLine.MatchString(bare) && !strings.Contains(bare, ",") && len(strings.Fields(bare)) <= 5 && !useWords.MatchString(bare)
}

// useWords stand in lines that say what something is used for, and no part of a dish.
var useWords = regexp.MustCompile(`(?i)^(for|für|pour) (serving|garnish|dusting|frying|greasing|brushing|decoration|die deko|servir|décorer)`)

// servings of a text: "Serves 4", "Makes 12 muffins", "Für 4 Personen", "Pour 6 personnes", "4 Portionen".
var servingsLine = regexp.MustCompile(`(?i)(?:^|[(\s])(?:(?:serves|servings|yields?|makes|portionen|personen|portions|anzahl)\s*:?\s*(?:about |approx\.? |ca\.? )?(\d{1,3})\b|(?:for|für|pour)\s*:?\s*(\d{1,3})(?:\s*-\s*\d{1,3})?\s*(?:people|persons|servings|portions|personen|portionen|personnes|pers\b|parts)|^(\d{1,3})\s+(?:servings|portionen|personen|portions|personnes)\b)`)

// servingsOf returns for how many a line says that a recipe is.
func servingsOf(line string) (int, bool) {
	at := servingsLine.FindStringSubmatchIndex(line)
	if at == nil || notPortions.MatchString(line[at[1]:]) {
		return 0, false
	}
	for i := 2; i < len(at); i += 2 {
		if at[i] < 0 {
			continue
		}
		if n, err := strconv.Atoi(line[at[i]:at[i+1]]); err == nil && n > 0 {
			return n, true
		}
	}
	return 0, false
}

// notPortions is what stands behind the figure of a yield that says nothing of portions: "2 litres".
var notPortions = regexp.MustCompile(`(?i)^(?:[.,/-]\d+)?\s*(?:g|kg|ml|cl|dl|l|lit(?:re|er)s?|oz|lb|pounds?|cups?|tassen?|loaf|loaves|cakes?|tarts?|pies?|jars?|batch(?:es)?|kuchen|brote?|gläser|pots?|bocal|bocaux|gâteaux?|tartes?)\b`)

// timeLine is a line that says how long something takes.
var timeLine = regexp.MustCompile(`(?i)^(prep(?:aration|ping)?|cook(?:ing)?|bak(?:e|ing)|total|active|rest(?:ing)?|ready in|time|vorbereitungszeit|zubereitungszeit|arbeitszeit|kochzeit|backzeit|garzeit|gesamtzeit|ruhezeit|temps de préparation|préparation|temps de cuisson|cuisson|temps total|repos)(?: time)?\s*:?\s*((?:ca\.?|about|env\.?)?\s*\d.*)$`)

// duration is what a time is made of.
var duration = regexp.MustCompile(`(?i)(\d{1,4}(?:[.,]\d{1,2})?)\s*(h|m|std|stunde|min|heure)`)

// spoken returns the minutes of a time as people write it: "1 h 30 min", "1.5 hours", "2 Std. 10 Min.".
func spoken(text string) int {
	sum := 0.0
	for _, m := range duration.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
		if err != nil {
			continue
		}
		if unit := strings.ToLower(m[2]); strings.HasPrefix(unit, "h") || strings.HasPrefix(unit, "std") || strings.HasPrefix(unit, "stu") {
			n *= 60
		}
		sum += n
	}
	return int(min(sum+0.5, maxMinutes))
}

// addTime takes a line that says how long something takes, and reports whether it is one.
func (r *Recipe) addTime(line string) bool {
	m := timeLine.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	spent := spoken(m[2])
	if spent == 0 {
		return false
	}
	switch what := strings.ToLower(m[1]); {
	case strings.HasPrefix(what, "prep"), strings.HasPrefix(what, "active"), strings.HasPrefix(what, "vorb"), strings.HasPrefix(what, "arbeits"), strings.Contains(what, "prépa"):
		r.Prep += spent
	case strings.HasPrefix(what, "cook"), strings.HasPrefix(what, "bak"), strings.HasPrefix(what, "koch"), strings.HasPrefix(what, "back"), strings.HasPrefix(what, "gar"), strings.Contains(what, "cuisson"):
		r.Cook += spent
	case strings.HasPrefix(what, "rest"), strings.HasPrefix(what, "ruhe"), what == "repos":
	default:
		r.Total = spent
	}
	return true
}
