package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/food"
	"github.com/koan-go/koan/sample-pantrypal/ent/foodportion"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/foods"
)

// ownFoodFields are the fields of a food of the catalogue that are the household's.
var ownFoodFields = map[string]bool{food.FieldOwnNames: true, food.FieldKeepAmount: true, food.FieldKeepUnit: true}

// sharedFoods leaves foods of the catalogue as every set has them.
func sharedFoods(next ent.Mutator) ent.Mutator {
	return hook.FoodFunc(func(ctx context.Context, m *ent.FoodMutation) (ent.Value, error) {
		if ofCatalogue(ctx) || m.Op().Is(ent.OpCreate) {
			return next.Mutate(ctx, m)
		}
		foreign := m.Op().Is(ent.OpDelete|ent.OpDeleteOne) || len(m.AddedEdges())+len(m.RemovedEdges()) > 0
		for _, f := range slices.Concat(m.Fields(), m.ClearedFields(), m.AddedFields()) {
			foreign = foreign || !ownFoodFields[f]
		}
		if !foreign {
			return next.Mutate(ctx, m)
		}
		ids, err := m.IDs(ctx)
		if err != nil {
			return nil, err
		}
		shared, err := m.Client().Food.Query().Where(food.IDIn(ids...), food.OriginEQ(food.OriginCatalogue)).First(ctx)
		switch {
		case err == nil:
			return nil, fmt.Errorf("%s is a food of the catalogue: only its ownNames, keepAmount and keepUnit can be changed. Make a food of your own", shared.Name)
		case !ent.IsNotFound(err):
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// sharedPortions does the same for what their units weigh.
func sharedPortions(next ent.Mutator) ent.Mutator {
	return hook.FoodPortionFunc(func(ctx context.Context, m *ent.FoodPortionMutation) (ent.Value, error) {
		if ofCatalogue(ctx) {
			return next.Mutate(ctx, m)
		}
		query := m.Client().Food.Query().Where(food.OriginEQ(food.OriginCatalogue))
		if m.Op().Is(ent.OpCreate) {
			id, _ := m.FoodID()
			query.Where(food.ID(id))
		} else {
			ids, err := m.IDs(ctx)
			if err != nil {
				return nil, err
			}
			query.Where(food.HasPortionsWith(foodportion.IDIn(ids...)))
		}
		shared, err := query.First(ctx)
		switch {
		case err == nil:
			return nil, fmt.Errorf("%s is a food of the catalogue, and what its units weigh cannot be changed", shared.Name)
		case !ent.IsNotFound(err):
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// ownFoods completes a food that a household makes: what is not sent is guessed from a food that is
// like it, and said to be guessed. A name belongs to one food, and what already bears a new name
// joins its food.
func ownFoods(next ent.Mutator) ent.Mutator {
	return hook.FoodFunc(func(ctx context.Context, m *ent.FoodMutation) (ent.Value, error) {
		if ofCatalogue(ctx) || !m.Op().Is(ent.OpCreate|ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		book, err := Book(ctx, m.Client())
		if err != nil {
			return nil, err
		}
		if m.Op().Is(ent.OpCreate) {
			if err := guess(m, book); err != nil {
				return nil, err
			}
		} else if err := noteSaid(ctx, m); err != nil {
			return nil, err
		}
		names, err := freeNames(m, book)
		if err != nil {
			return nil, err
		}
		value, err := next.Mutate(ctx, m)
		if err != nil || len(names) == 0 {
			return value, err
		}
		id, _ := m.ID()
		return value, joinLoose(ctx, m.Client(), id, names)
	})
}

// freeNames returns the names that a change gives, and refuses one that another food has.
func freeNames(m *ent.FoodMutation, book *foods.Book) ([]string, error) {
	var names []string
	if name, said := m.Name(); said {
		names = append(names, name)
	}
	for _, list := range []func() ([]string, bool){m.Aliases, m.AppendedAliases, m.OwnNames, m.AppendedOwnNames} {
		more, _ := list()
		names = append(names, more...)
	}
	id, _ := m.ID()
	for i, name := range names {
		if strings.TrimSpace(name) == "" || len([]rune(name)) > maxFoodName {
			return nil, fmt.Errorf("a name has 1 to %d characters", maxFoodName)
		}
		if other, taken := book.Named(name); taken && other.ID != id {
			return nil, fmt.Errorf("%s is a name of %s already (food %s): use that food, or say how this one differs", name, other.Name, other.ID)
		}
		names[i] = strings.TrimSpace(name)
	}
	return names, nil
}

// maxFoodName is how many characters a name of a food has at most.
const maxFoodName = 120

// The names of what can be guessed, in Food.guessed.
const (
	guessedAisle     = "aisle"
	guessedAllergens = "allergens"
	guessedDiets     = "diets"
	guessedShelfLife = "shelfLife"
)

// guess fills what a new food does not say from the food that it is like.
func guess(m *ent.FoodMutation, book *foods.Book) error {
	m.SetOrigin(food.OriginHousehold)
	name, _ := m.Name()
	like, known := book.Like(name)
	if id, said := m.Like(); said {
		if like, known = book.Of(id); !known {
			return fmt.Errorf("there is no food %q that it could be like", id)
		}
	}
	if thing, _ := m.Thing(); thing {
		if _, said := m.Aisle(); !said {
			m.SetAisle("household")
		}
		return nil
	}
	if known {
		m.SetLike(like.ID)
		if like.Thing {
			m.SetThing(true)
		}
		if _, said := m.Staple(); said && like.Staple {
			m.SetStaple(true)
		}
	} else {
		like.Aisle = "other"
	}
	var guessed []string
	if _, said := m.Aisle(); !said {
		m.SetAisle(like.Aisle)
		guessed = append(guessed, guessedAisle)
	}
	if _, said := m.Allergens(); !said && !m.AllergensCleared() && !like.Thing {
		m.SetAllergens(slices.Clone(like.Allergens))
		guessed = append(guessed, guessedAllergens)
	}
	if _, said := m.Diets(); !said && !m.DietsCleared() && !like.Thing {
		m.SetDiets(slices.Clone(like.Diets))
		guessed = append(guessed, guessedDiets)
	}
	if !saysShelfLife(m) {
		for _, s := range []struct {
			days int
			set  func(int)
		}{{like.Shelf.Pantry, m.SetShelfLifePantry}, {like.Shelf.Fridge, m.SetShelfLifeFridge}, {like.Shelf.Freezer, m.SetShelfLifeFreezer}} {
			if s.days > 0 {
				s.set(s.days)
			}
		}
		guessed = append(guessed, guessedShelfLife)
	}
	m.SetGuessed(guessed)
	return nil
}

func saysShelfLife(m *ent.FoodMutation) bool {
	_, pantry := m.ShelfLifePantry()
	_, fridge := m.ShelfLifeFridge()
	_, freezer := m.ShelfLifeFreezer()
	return pantry || fridge || freezer || m.ShelfLifePantryCleared() || m.ShelfLifeFridgeCleared() || m.ShelfLifeFreezerCleared()
}

// noteSaid takes what a change says off the list of what was guessed.
func noteSaid(ctx context.Context, m *ent.FoodMutation) error {
	said := map[string]bool{guessedShelfLife: saysShelfLife(m), guessedAllergens: m.AllergensCleared(), guessedDiets: m.DietsCleared()}
	for _, f := range m.Fields() {
		said[f] = true // aisle, allergens and diets are called as their columns
	}
	if !said[guessedAisle] && !said[guessedAllergens] && !said[guessedDiets] && !said[guessedShelfLife] {
		return nil
	}
	before, err := m.OldGuessed(ctx)
	if err != nil {
		return err
	}
	if rest := slices.DeleteFunc(slices.Clone(before), func(f string) bool { return said[f] }); len(rest) < len(before) {
		m.SetGuessed(rest)
	}
	return nil
}
