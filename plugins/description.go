package plugins

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Description is what a plugin says of itself.
type Description struct {
	Domain, Version string
	Contract        int // version of the protocol
	About           string
	Functions       []FunctionDescription
	Settings        []SettingDescription
	Needs           []string // ids and patterns of the operations that it asks to call
}

// FunctionDescription is what a plugin says of one function.
type FunctionDescription struct {
	Name, Summary string
	Effects       catalog.Effects
	Scopes        []string
	Input, Output json.RawMessage // JSON Schemas
	Example       json.RawMessage // an input; nil for none
}

// SettingDescription is what a plugin says of one setting.
type SettingDescription struct {
	Key, Default, Help string
	Secret             bool
}

func descriptionOf(m *wire.Manifest) *Description {
	d := &Description{Domain: m.GetDomain(), Version: m.GetVersion(), Contract: int(m.GetContractVersion()), About: ownerOf(m).Description, Needs: m.GetNeeds()}
	for _, f := range m.GetFunctions() {
		d.Functions = append(d.Functions, FunctionDescription{
			Name: f.GetName(), Summary: bounded(f.GetSummary(), maxSummary), Effects: effectsOf(f), Scopes: f.GetScopes(),
			Input: compact(f.GetInputSchema()), Output: compact(f.GetOutputSchema()), Example: f.GetExample(),
		})
	}
	for _, s := range m.GetSettings() {
		d.Settings = append(d.Settings, SettingDescription{Key: s.GetKey(), Default: s.GetDefaultValue(), Help: s.GetHelp(), Secret: s.GetSecret()})
	}
	return d
}
