package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// maxPortion is what the hungriest member eats, in portions of an adult.
const maxPortion = 10

// knownMembers refuses members of whom something would be passed over in silence: an allergy that
// no food is marked with must not look as if it were heeded.
func knownMembers(next ent.Mutator) ent.Mutator {
	return hook.HouseholdFunc(func(ctx context.Context, m *ent.HouseholdMutation) (ent.Value, error) {
		members, said := m.Members()
		if !said {
			return next.Mutate(ctx, m)
		}
		book, err := Book(ctx, m.Client())
		if err != nil {
			return nil, err
		}
		members = slices.Clone(members)
		for i := range members {
			one := &members[i]
			if one.Name = strings.TrimSpace(one.Name); one.Name == "" {
				return nil, fmt.Errorf("member %d has no name", i+1)
			}
			for _, other := range members[:i] {
				if strings.EqualFold(other.Name, one.Name) {
					return nil, fmt.Errorf("two members are called %s; actions tell them apart by name", one.Name)
				}
			}
			if err := CheckMember(one, book); err != nil {
				return nil, err
			}
		}
		m.SetMembers(members)
		return next.Mutate(ctx, m)
	})
}

// CheckMember refuses of somebody who eats what would be passed over in silence, and writes the rest
// as the catalogue does.
func CheckMember(one *schema.Member, book *foods.Book) error {
	if one.Portion == 0 {
		one.Portion = 1
	}
	if one.Portion < 0 || one.Portion > maxPortion {
		return fmt.Errorf("the portion of %s is %v; want one above 0 and up to %d, such as 1 for an adult", one.Name, one.Portion, maxPortion)
	}
	if one.Diet = strings.ToLower(one.Diet); one.Diet != "" && one.Diet != "none" && !slices.Contains(catalogue.Diets, one.Diet) {
		return fmt.Errorf("the diet of %s is %q; want none, or one of %s", one.Name, one.Diet, strings.Join(catalogue.Diets, ", "))
	}
	return known(one, book)
}

// known refuses allergens that foods are not marked with, and foods that nobody knows.
func known(one *schema.Member, book *foods.Book) error {
	one.Dislikes = slices.Clone(one.Dislikes)
	allergies := []string{}
	for _, said := range one.Allergies {
		meant := allergensOf(said)
		if meant == nil {
			return fmt.Errorf("foods are not marked with the allergen %q of %s; they are with %s. A single food can be a dislike", said, one.Name, strings.Join(catalogue.Allergens, ", "))
		}
		for _, a := range meant {
			if !slices.Contains(allergies, a) {
				allergies = append(allergies, a)
			}
		}
	}
	if one.Allergies != nil {
		one.Allergies = allergies
	}
	for _, name := range one.Dislikes {
		match := book.Find(name)
		if match.ID == "" {
			like := ""
			if len(match.Candidates) > 0 {
				like = "; did you mean " + strings.Join(match.Candidates, ", ") + "?"
			}
			return fmt.Errorf("%s dislikes %q, and no food is called so%s", one.Name, name, like)
		}
	}
	return nil
}

// allergyWords are what people call the allergens of foods. Who says lactose is served no milk at all:
// no food says how much of it is left.
var allergyWords = map[string][]string{
	"dairy": {"milk"}, "lactose": {"milk"}, "cow's milk": {"milk"}, "cheese": {"milk"}, "shellfish": {"crustaceans", "molluscs"}, "seafood": {"fish", "crustaceans", "molluscs"},
	"mollusk": {"molluscs"}, "mollusks": {"molluscs"}, "prawns": {"crustaceans"}, "shrimp": {"crustaceans"}, "wheat": {"gluten"}, "coeliac": {"gluten"}, "celiac": {"gluten"},
	"coeliac disease": {"gluten"}, "celiac disease": {"gluten"}, "soya": {"soy"}, "soybeans": {"soy"}, "soya beans": {"soy"}, "tree nuts": {"nuts"}, "tree nut": {"nuts"}, "hazelnuts": {"nuts"}, "walnuts": {"nuts"},
	"almonds": {"nuts"}, "cashews": {"nuts"}, "groundnuts": {"peanuts"}, "all nuts": {"nuts", "peanuts"}, "sesame seeds": {"sesame"}, "sulfites": {"sulphites"}, "sulfite": {"sulphites"}, "lupine": {"lupin"},
}

// allergensOf returns the allergens that people mean by a word, nil where no food is marked with it.
func allergensOf(word string) []string {
	word = strings.ToLower(strings.Join(strings.Fields(word), " "))
	for _, w := range []string{word, word + "s"} {
		if slices.Contains(catalogue.Allergens, w) {
			return []string{w}
		}
	}
	return allergyWords[word]
}
