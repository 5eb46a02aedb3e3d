// Command shop calls the shop with the generated client, and prints what it got.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"goclient/api"
)

// as is a value of a type that has several forms, in one of them.
func as[T, V any](set func(*T, V) error, v V) *T {
	var t T
	check(set(&t, v))
	return &t
}

func tea() api.ProductModel {
	return api.ProductModel{
		Sku: new("tea"), Name: new("Tea"), Status: new(api.ProductModelStatus("on_sale")), Price: as((*api.ProductModel_Price).FromProductModelPrice0, "3.50"),
		Category: as((*api.ProductModel_Category).FromProductModelCategory0, "green"), Serial: as((*api.ProductModel_Serial).FromProductModelSerial0, int64(9007199254740993)),
		Dimensions: map[string]int{"width": 10, "height": 20}, Tags: &[]string{"hot"}, Attributes: &map[string]string{"origin": "Assam"}, Extra: &map[string]any{"grams": 100},
	}
}

// filter finds the tea, by each kind of field and over relationships in both directions.
func filter() *api.ProductFilter {
	parent := api.CategoryFilter{Title: as((*api.CategoryFilter_Title).FromStringConditions, api.StringConditions{Icontains: new("DRINK")})}
	category := api.CategoryFilter{Parent: as((*api.CategoryFilter_Parent).FromCategoryFilter, parent)}
	customer := api.CustomerFilter{Email: as((*api.CustomerFilter_Email).FromCustomerFilterEmail0, "a@b.example")}
	order := api.OrderFilter{Customer: as((*api.OrderFilter_Customer).FromCustomerFilter, customer)}
	f := &api.ProductFilter{
		Name:       as((*api.ProductFilter_Name).FromStringConditions, api.StringConditions{StartsWith: new("T")}),
		Status:     as((*api.ProductFilter_Status).FromStringEqualityConditions, api.StringEqualityConditions{In: &[]string{"on_sale", "retired"}}),
		Price:      as((*api.ProductFilter_Price).FromDecimalConditions, api.DecimalConditions{Lt: as((*api.DecimalConditions_Lt).FromDecimalConditionsLt0, "5.00")}),
		Serial:     as((*api.ProductFilter_Serial).FromIntConditions, api.IntConditions{Eq: as((*api.IntConditions_Eq).FromIntConditionsEq0, int64(9007199254740993))}),
		Attributes: &api.JsonConditions{Path: &map[string]any{"origin": "Assam"}},
		Tags:       &api.ListConditions{Has: "hot"},
		Category:   as((*api.ProductFilter_Category).FromCategoryFilter, category),
		Not:        &api.ProductFilter{Sku: as((*api.ProductFilter_Sku).FromProductFilterSku0, "pot")},
	}
	type lines = struct { // as the document has it, without a name
		Every  *api.LineFilter `json:"$every,omitempty"`
		Exists *bool           `json:"$exists,omitempty"`
		None   *api.LineFilter `json:"$none,omitempty"`
		Some   *api.LineFilter `json:"$some,omitempty"`
	}
	f.Lines = &lines{Some: &api.LineFilter{
		Quantity: as((*api.LineFilter_Quantity).FromIntConditions, api.IntConditions{Gte: as((*api.IntConditions_Gte).FromIntConditionsGte0, int64(2))}),
		Order:    as((*api.LineFilter_Order).FromOrderFilter, order),
	}}
	return f
}

// related reads the category with its parent, and the lines with who bought them.
func related() *api.ProductWith {
	with := api.ProductWith2{
		Category: as((*api.ProductWith_2_Category).FromProductWith2Category1, api.ProductWith2Category1{With: as((*api.CategoryWith).FromCategoryWith0, "parent")}),
		Lines:    as((*api.ProductWith_2_Lines).FromProductWith2Lines1, api.ProductWith2Lines1{Limit: new(3), With: as((*api.LineWith).FromLineWith1, []string{"order.customer"})}),
	}
	return as((*api.ProductWith).FromProductWith2, with)
}

func groups() api.LineAggregateJSONRequestBody {
	atLeast := api.HavingConditions{Gte: as((*api.HavingConditions_Gte).FromHavingConditionsGte1, float64(1))}
	isTwo := api.HavingConditions{Eq: as((*api.HavingConditions_Eq).FromHavingConditionsEq1, float64(2))}
	return api.LineAggregateJSONRequestBody{
		GroupBy: as((*api.LineAggregateJSONBody_GroupBy).FromLineAggregateJSONBodyGroupBy0, "product"),
		Count:   as((*api.LineAggregateJSONBody_Count).FromLineAggregateJSONBodyCount0, true),
		Sum:     as((*api.LineAggregateJSONBody_Sum).FromLineAggregateJSONBodySum1, []string{"quantity"}),
		Having: &api.Having{
			"count":       as((*api.HavingTerm).FromHavingConditions, atLeast),
			"sumQuantity": as((*api.HavingTerm).FromHavingConditions, isTwo),
		},
	}
}

func main() {
	ctx := context.Background()
	c, err := api.NewClientWithResponses(os.Args[1])
	check(err)
	_, err = c.CategoryUpsertWithResponse(ctx, nil, api.CategoryModel{Id: new("drinks"), Title: new("Drinks")})
	check(err)
	_, err = c.CategoryUpsertWithResponse(ctx, nil, api.CategoryModel{Id: new("green"), Title: new("Green"), Parent: as((*api.CategoryModel_Parent).FromCategoryModelParent0, "drinks")})
	check(err)
	product, err := c.ProductUpsertWithResponse(ctx, nil, tea())
	check(err)
	customer, err := c.CustomerUpsertWithResponse(ctx, nil, api.CustomerModel{Email: new("a@b.example"), Name: new("Ann")})
	check(err)
	order, err := c.OrderUpsertWithResponse(ctx, nil, api.OrderModel{Customer: as((*api.OrderModel_Customer).FromOrderModelCustomer0, customer.JSON201.Id), State: new(api.OrderModelStateSent)})
	check(err)
	_, err = c.LineUpsertWithResponse(ctx, nil, api.LineModel{
		Order: as((*api.LineModel_Order).FromLineModelOrder0, order.JSON201.Id), Product: as((*api.LineModel_Product).FromLineModelProduct0, product.JSON201.Id),
		Quantity: as((*api.LineModel_Quantity).FromLineModelQuantity0, int64(2)), Price: as((*api.LineModel_Price).FromLineModelPrice0, "7.00"),
	})
	check(err)

	found, err := c.ProductQueryWithResponse(ctx, api.ProductQueryJSONRequestBody{Filter: filter(), With: related()})
	check(err)
	aggregated, err := c.LineAggregateWithResponse(ctx, groups())
	check(err)
	p := found.JSON200.Items[0]
	serial, err := p.Serial.AsProductSerial1()
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"price": *p.Price, "serial": serial, "status": *p.Status, "width": p.Dimensions.(map[string]any)["width"], "origin": (*p.Attributes)["origin"], "grams": (*p.Extra)["grams"], "tags": *p.Tags,
		"parent": *p.Category.Parent.Title, "buyer": *(*p.Lines)[0].Order.Customer.Name, "groups": len(aggregated.JSON200.Rows), "sum": aggregated.JSON200.Rows[0]["sumQuantity"],
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
